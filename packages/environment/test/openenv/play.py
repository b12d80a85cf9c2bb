"""Plays our corridor and box with the official client; prints what it saw as JSON."""

import json
import sys

from openenv.core.generic_client import GenericEnvClient

corridor, box = sys.argv[1:]
seen = []


def note(result):
    seen.append([result.observation.get("message"), result.reward, result.done])


with GenericEnvClient(base_url=corridor).sync() as env:
    note(env.reset(split="train", index=1))
    note(env.step({"message": "jump"}))
    note(env.step({"message": "right"}))
    note(env.step({"message": "right"}))
    seen.append(env.state()["step_count"])
with GenericEnvClient(base_url=box).sync() as env:
    note(env.reset(split="eval", index=5))
    tools = env.step({"type": "list_tools"}).observation["tools"]
    seen.append([tool["name"] for tool in tools])
    result = env.step({"type": "call_tool", "tool_name": "say", "arguments": {"number": 5}})
    seen.append([result.observation["result"]["data"], result.reward, result.done])
print(json.dumps(seen))
