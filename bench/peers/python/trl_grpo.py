"""Trains the quickstart's additions by GRPO with TRL. The benchmark measures the whole process."""

import json
import os
import sys

from datasets import Dataset
from torch.optim.lr_scheduler import LambdaLR
from transformers import AutoModelForCausalLM, AutoTokenizer
from trl import GRPOConfig, GRPOTrainer

job = json.loads(sys.argv[1])
model = AutoModelForCausalLM.from_pretrained(f"{job['warm']}/model", dtype="float32")
tokenizer = AutoTokenizer.from_pretrained(f"{job['warm']}/model")
with open(f"{job['warm']}/data/tasks.jsonl") as lines:
    problems = [json.loads(line) for line in lines]
# Prompts have the form in which the model's chat template writes a question.
tasks = Dataset.from_list([{"prompt": f"{each['question']}\n", "answer": each["answer"]} for each in problems])
rewards = []


def exact_match(completions, answer, **_):
    right = [float(text == expected) for text, expected in zip(completions, answer)]
    rewards.append(sum(right) / len(right))
    return right


rows = job["tasks"] * job["runsOfTask"]
config = GRPOConfig(
    output_dir=job["output"],
    use_cpu=True,
    bf16=False,
    gradient_checkpointing=False,
    seed=job["seed"],
    max_steps=job["steps"],
    learning_rate=job["learningRate"],
    adam_beta2=0.95,
    weight_decay=0.0,
    per_device_train_batch_size=rows,
    gradient_accumulation_steps=1,
    num_generations=job["runsOfTask"],
    max_completion_length=job["responseTokens"],
    temperature=1.0,
    beta=0.0,
    dataloader_pin_memory=False,
    save_strategy="no",
    report_to=[],
    disable_tqdm=True,
    logging_steps=job["steps"],
)


class Trainer(GRPOTrainer):
    def create_scheduler(self, num_training_steps, optimizer=None):
        # Uses our warm-up, because that of transformers is one step behind and begins with rate 0.
        share = lambda done: min(1, 0.01 + 0.99 * (done + 1) / job["warmupSteps"])
        self.lr_scheduler = LambdaLR(optimizer or self.optimizer, share)
        return self.lr_scheduler


trainer = Trainer(
    model=model,
    args=config,
    reward_funcs=exact_match,
    train_dataset=tasks,
    processing_class=tokenizer,
)
trainer.train()
trainer.save_model(os.path.join(job["output"], "model"))
mean = lambda values: sum(values) / len(values)
print(json.dumps({"parts": {"first reward": mean(rewards[:5]), "reward": mean(rewards[-5:])}}))
