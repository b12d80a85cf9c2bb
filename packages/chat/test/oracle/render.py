"""Renders conversations with chat templates as transformers does.

Reads {templates: {name: source}, conversations: [...], specialTokens} from standard input and writes
{name: {conversation: text, or null where the template fails}}. As in vLLM, the arguments of tool calls
are parsed before. The date is fixed.
"""

import json
import sys
from datetime import datetime

from transformers.utils import chat_template_utils


class FixedDate(datetime):
    @classmethod
    def now(cls, tz=None):
        return cls(2026, 1, 2, 15, 4, 5)


chat_template_utils.datetime = FixedDate


def messages_of(conversation):
    messages = json.loads(json.dumps(conversation["messages"]))
    for message in messages:
        for call in message.get("tool_calls") or []:
            call["function"]["arguments"] = json.loads(call["function"]["arguments"])
    return messages


def render(source, conversation, special_tokens):
    tools = conversation["tools"] and [json.loads(tool) for tool in conversation["tools"]]
    try:
        texts, _ = chat_template_utils.render_jinja_template(
            [messages_of(conversation)],
            tools=tools,
            chat_template=source,
            add_generation_prompt=conversation["add"],
            **special_tokens,
            **conversation["kwargs"],
        )
        return texts[0]
    except Exception:
        return None


request = json.load(sys.stdin)
json.dump(
    {
        name: {
            conversation["name"]: render(source, conversation, request["specialTokens"])
            for conversation in request["conversations"]
        }
        for name, source in request["templates"].items()
    },
    sys.stdout,
    ensure_ascii=False,
    indent=1,
)
