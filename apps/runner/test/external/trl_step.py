"""Makes one step of TRL's GRPOTrainer in the environment `frozen_lake`, which `trinity env serve` serves. Prints the
episodes and the trainer's numbers as JSON."""

import contextlib
import json
import random
import sys

import torch
from datasets import Dataset
from openenv.core.generic_client import GenericEnvClient
from transformers import AutoModelForCausalLM, AutoTokenizer
from transformers.utils import get_json_schema
from trl import GRPOConfig, GRPOTrainer
from trl.chat_template_utils import qwen3_training_chat_template, qwen3_template

url, model_path, work = sys.argv[1:]
tasks, runs = 4, 8
directions = ["left", "down", "right", "up"]
played = []


class LakeEnvironment:
    """Environment in the form of TRL's guide to OpenEnv: its methods are the tools of the policy."""

    def __init__(self):
        self.client = GenericEnvClient(base_url=url).sync()
        self.client.connect()

    def reset(self, index, **row) -> str:
        result = self.client.reset(split="train", index=index)
        self.episode = {"index": index, "actions": [], "rewards": [], "done": result.done}
        played.append(self.episode)
        return result.observation["message"]

    def move(self, direction: str) -> str:
        """
        Goes one step over the lake.

        Args:
            direction: left, down, right or up
        """
        if self.episode["done"]:
            return "The episode is over."
        result = self.client.step({"message": direction})
        self.episode["actions"].append(direction)
        self.episode["rewards"].append(result.reward)
        self.episode["done"] = result.done
        return result.observation["message"]

    def get_reward(self) -> float:
        return float(sum(reward or 0 for reward in self.episode["rewards"]))


def call(direction):
    function = {"name": "move", "arguments": {"direction": direction}}
    return {"role": "assistant", "content": "", "tool_calls": [{"type": "function", "function": function}]}


def question(observation=""):
    return {"role": "user", "content": "Walk to G." + observation}


def wander(environment):
    """Returns a conversation with random steps."""
    messages = [question(environment.reset(index=random.randrange(100)))]
    while not environment.episode["done"] and len(messages) < 8:
        direction = random.choice(directions)
        messages += [call(direction), {"role": "tool", "name": "move", "content": environment.move(direction)}]
    return messages


def warm_up(model, tokenizer, tools):
    """Trains a new model on random steps, so that it calls the tool."""
    environment = LakeEnvironment()
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
    for _ in range(120):
        batch = tokenizer(
            [tokenizer.apply_chat_template(wander(environment), tools=tools, tokenize=False) for _ in range(4)],
            padding=True,
            return_tensors="pt",
        )
        labels = batch["input_ids"].masked_fill(batch["attention_mask"] == 0, -100)
        model(**batch, labels=labels).loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    environment.client.close()
    played.clear()


random.seed(1)
torch.manual_seed(1)
tokenizer = AutoTokenizer.from_pretrained(model_path)
tokenizer.chat_template = qwen3_training_chat_template
tokenizer.response_template = qwen3_template
model = AutoModelForCausalLM.from_pretrained(model_path, dtype=torch.float32)
warm_up(model, tokenizer, [get_json_schema(LakeEnvironment.move)])
before = [weights.detach().clone() for weights in model.parameters()]
trainer = GRPOTrainer(
    model=model,
    processing_class=tokenizer,
    environment_factory=LakeEnvironment,
    train_dataset=Dataset.from_list([{"prompt": [question()], "index": index} for index in range(tasks)]),
    args=GRPOConfig(
        output_dir=work,
        max_steps=1,
        per_device_train_batch_size=tasks * runs,
        num_generations=runs,
        max_completion_length=600,
        max_tool_calling_iterations=8,
        learning_rate=1e-3,
        logging_steps=1,
        report_to="none",
        save_strategy="no",
        use_cpu=True,
        bf16=False,
        gradient_checkpointing=False,
        disable_tqdm=True,
    ),
)
# The trainer prints its log to standard output, which is reserved for the result.
with contextlib.redirect_stdout(sys.stderr):
    trainer.train()
moved = max((a - b).abs().max().item() for a, b in zip(model.parameters(), before, strict=True))
print(json.dumps({"played": played, "log": trainer.state.log_history[0], "moved": moved}))
