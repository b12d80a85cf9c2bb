"""Measures the time per token after a prompt, with the generate method of transformers."""

import json
import resource
import sys
import time

import torch
from transformers import AutoModelForCausalLM

job = json.loads(sys.argv[1])
model = AutoModelForCausalLM.from_pretrained(job["model"], dtype=torch.float32)
prompts = torch.tensor(
    [[(row * 31 + t * t + 7) % job["vocabSize"] for t in range(job["promptTokens"])] for row in range(job["batch"])]
)


def cpu_seconds():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def seconds_for(tokens):
    begun = time.perf_counter()
    model.generate(
        prompts,
        attention_mask=torch.ones_like(prompts),
        do_sample=True,
        top_k=0,
        min_new_tokens=tokens,
        max_new_tokens=tokens,
        pad_token_id=0,
    )
    return time.perf_counter() - begun


seconds_for(2)
cpu = cpu_seconds()
seconds = seconds_for(job["newTokens"]) - seconds_for(1)
rate = job["batch"] * (job["newTokens"] - 1) / seconds
print(json.dumps({"seconds": seconds, "cpuSeconds": cpu_seconds() - cpu, "parts": {"tokens per second": rate}}))
