"""An agent as a separate program: python3 calculator_agent.py QUESTION. It is independent of training."""
import json
import os
import re
import sys
import urllib.request

CALCULATOR = {
    "name": "calculator",
    "description": "Multiplies two whole numbers.",
    "parameters": {
        "type": "object",
        "properties": {"expression": {"type": "string", "description": "for example 12*34"}},
        "required": ["expression"],
    },
}


def ask(messages):
    body = {"model": "gpt-5-nano", "messages": messages, "tools": [{"type": "function", "function": CALCULATOR}]}
    headers = {"Authorization": "Bearer " + os.environ["OPENAI_API_KEY"], "Content-Type": "application/json"}
    url = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
    with urllib.request.urlopen(urllib.request.Request(url, json.dumps(body).encode(), headers)) as response:
        return json.load(response)["choices"][0]["message"]


def multiply(expression):
    factors = re.fullmatch(r"(\d+)\*(\d+)", expression)
    return str(int(factors[1]) * int(factors[2])) if factors else "error"


messages = [{"role": "user", "content": sys.argv[1]}]
for turn in range(3):
    message = ask(messages)
    messages.append(message)
    calls = message.get("tool_calls") or []
    if not calls:
        break
    for call in calls:
        result = multiply(json.loads(call["function"]["arguments"]).get("expression", ""))
        messages.append({"role": "tool", "tool_call_id": call["id"], "content": result})
sys.stdout.write(messages[-1].get("content") or "")
