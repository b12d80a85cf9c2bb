"""Encodes texts and decodes ids with the library `tokenizers`.

Reads {file, texts} from standard input; writes a list of {text?, ids, decoded, visible}: the texts, and
random sequences of ids, half of them added tokens.
"""

import json
import random
import sys

from tokenizers import Tokenizer

request = json.load(sys.stdin)
tokenizer = Tokenizer.from_file(request["file"])
source = random.Random(1)
size = tokenizer.get_vocab_size()
added = sorted(tokenizer.get_added_tokens_decoder())


def some_id():
    return source.choice(added) if source.random() < 0.5 else source.randrange(size)


def case(ids, **rest):
    return {
        **rest,
        "ids": ids,
        "decoded": tokenizer.decode(ids, skip_special_tokens=False),
        "visible": tokenizer.decode(ids, skip_special_tokens=True),
    }


cases = [
    case(tokenizer.encode(text, add_special_tokens=False).ids, text=text)
    for text in request["texts"]
]
cases += [case([some_id() for _ in range(source.randrange(1, 12))]) for _ in range(100)]
json.dump(cases, sys.stdout)
