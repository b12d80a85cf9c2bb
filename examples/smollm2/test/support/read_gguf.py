"""Prints as JSON what transformers and llama.cpp's gguf package read from a GGUF file.

    python read_gguf.py MODEL.gguf '["text", ...]' '[[{"role": ..., "content": ...}], ...]'
"""

import hashlib
import json
import sys
from pathlib import Path

import gguf
import numpy as np
import torch
from tokenizers import pre_tokenizers
from transformers import AutoModelForCausalLM, AutoTokenizer

file = Path(sys.argv[1])
texts, conversations = json.loads(sys.argv[2]), json.loads(sys.argv[3])


def digest(array):
    return hashlib.sha256(np.ascontiguousarray(array, dtype=np.float32).tobytes()).hexdigest()


def logprobs(model, ids):
    with torch.no_grad():
        logits = model(torch.tensor([ids])).logits[0].float()
    return torch.log_softmax(logits[:-1], -1).gather(-1, torch.tensor(ids[1:])[:, None])[:, 0].tolist()


tokenizer = AutoTokenizer.from_pretrained(file.parent, gguf_file=file.name)
# transformers ignores `tokenizer.ggml.pre`. SmolLM2 and llama.cpp split off every digit first, which makes a difference only for digits such as ½.
digits = pre_tokenizers.Digits(individual_digits=True)
backend = tokenizer.backend_tokenizer
backend.pre_tokenizer = pre_tokenizers.Sequence([digits, backend.pre_tokenizer])
model = AutoModelForCausalLM.from_pretrained(file.parent, gguf_file=file.name, dtype=torch.float32).eval()
ids = [tokenizer(text, add_special_tokens=False).input_ids for text in texts]
prompts = [tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True) for messages in conversations]
config = model.config.to_dict()
result = dict(
    dequantised={tensor.name: digest(gguf.dequantize(tensor.data, tensor.tensor_type)) for tensor in gguf.GGUFReader(file).tensors},
    weights={name: digest(tensor.numpy()) for name, tensor in model.state_dict().items()},
    config={key: config.get(key) for key in ["vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads",
                                             "num_key_value_heads", "max_position_embeddings", "tie_word_embeddings", "eos_token_id"]},
    ids=ids,
    texts=[tokenizer.decode(row) for row in ids],
    prompts=prompts,
    logprobs=[logprobs(model, row) for row in ids],
    end=tokenizer.eos_token,
)
json.dump(result, sys.stdout)
