"""Times a supervised train step over dense rows with transformers, and with PEFT if a rank is given."""

import json
import resource
import sys
import time

import torch
from transformers import AutoModelForCausalLM

job = json.loads(sys.argv[1])
rows, length, rank = job["rows"], job["length"], job.get("rank")
model = AutoModelForCausalLM.from_pretrained(job["model"], dtype=torch.float32)
model.train()
if rank is not None:
    from peft import LoraConfig, get_peft_model

    model = get_peft_model(model, LoraConfig(r=rank, lora_alpha=rank, target_modules="all-linear"))
trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
optimizer = torch.optim.AdamW(trained, lr=1e-5)
tokens = torch.tensor(
    [[(row * 7919 + t * t * 31) % job["vocabSize"] for t in range(length + 1)] for row in range(rows)]
)


def cpu_seconds():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def step():
    begun = time.perf_counter()
    logits = model(input_ids=tokens[:, :-1], use_cache=False).logits
    loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
    forward = time.perf_counter()
    loss.backward()
    del logits, loss
    backward = time.perf_counter()
    torch.nn.utils.clip_grad_norm_(trained, 1.0)
    optimizer.step()
    optimizer.zero_grad()
    ended = time.perf_counter()
    return {"forward": forward - begun, "backward": backward - forward, "optimizer": ended - backward}


done = []
started = time.perf_counter()
while len(done) < 2 or time.perf_counter() - started < 3:
    begun, cpu = time.perf_counter(), cpu_seconds()
    parts = step()
    done.append({"seconds": time.perf_counter() - begun, "cpuSeconds": cpu_seconds() - cpu, "parts": parts})
later = sorted(done[1:], key=lambda each: each["seconds"])
median = later[len(later) // 2]
median["parts"]["first step"] = done[0]["seconds"]
median["parts"]["µs per token"] = 1e6 * median["seconds"] / (rows * length)
print(json.dumps(median))
