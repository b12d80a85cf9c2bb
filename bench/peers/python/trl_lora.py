"""Times GRPO steps with an adapter in TRL, in micro-batches."""

import json
import resource
import sys
import time

import torch
from datasets import Dataset
from peft import LoraConfig
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import AutoModelForCausalLM, PreTrainedTokenizerFast, TrainerCallback
from trl import GRPOConfig, GRPOTrainer

job = json.loads(sys.argv[1])
tasks, runs, rows = job["tasks"], job["runs"], job["tasks"] * job["runs"]
vocabulary = {f"w{token}": token for token in range(job["vocabSize"])}
words = Tokenizer(models.WordLevel(vocabulary, unk_token="w0"))
words.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
tokenizer = PreTrainedTokenizerFast(tokenizer_object=words, eos_token="w2", pad_token="w1", unk_token="w0")
prompts = [
    " ".join(f"w{(task * 31 + t * t + 7) % job['vocabSize']}" for t in range(job["promptTokens"])) for task in range(tasks)
]


def every_second(completions, **_):
    return [float(at % 2) for at in range(len(completions))]


def cpu_seconds():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


class Times(TrainerCallback):
    def __init__(self):
        self.steps = []

    def on_step_begin(self, *_, **__):
        self.begun, self.cpu = time.perf_counter(), cpu_seconds()

    def on_step_end(self, *_, **__):
        self.steps.append((time.perf_counter() - self.begun, cpu_seconds() - self.cpu))


times = Times()
trainer = GRPOTrainer(
    model=AutoModelForCausalLM.from_pretrained(job["model"], dtype=torch.float32),
    args=GRPOConfig(
        output_dir=job["output"],
        use_cpu=True,
        bf16=False,
        gradient_checkpointing=False,
        max_steps=2,
        learning_rate=1e-5,
        per_device_train_batch_size=job["microBatch"],
        gradient_accumulation_steps=rows // job["microBatch"],
        num_generations=runs,
        max_completion_length=job["responseTokens"],
        generation_kwargs={"min_new_tokens": job["responseTokens"]},
        temperature=1.0,
        beta=0.0,
        dataloader_pin_memory=False,
        save_strategy="no",
        report_to=[],
        disable_tqdm=True,
    ),
    reward_funcs=every_second,
    train_dataset=Dataset.from_list([{"prompt": prompt} for prompt in prompts]),
    processing_class=tokenizer,
    peft_config=LoraConfig(r=job["rank"], lora_alpha=job["rank"], target_modules="all-linear"),
    callbacks=[times],
)
trainer.train()
[(first, _), (seconds, cpu)] = times.steps
print(json.dumps({"seconds": seconds, "cpuSeconds": cpu, "parts": {"first step": first}}))
