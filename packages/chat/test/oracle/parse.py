"""Reads texts of models as vLLM's chat endpoint does, whole and token by token.

Reads {tokenizer, markers, tools, cases: [{parser, reasoning?, prompt?, text}]} from standard input and
writes [{whole, streamed}], each {reasoning, content, calls: [[name, arguments]]}, or {error}.
"""

import json
import sys

from transformers import PreTrainedTokenizerFast
from vllm.entrypoints.openai.chat_completion.protocol import ChatCompletionRequest
from vllm.parser.parser_manager import ParserManager


def result(reasoning, content, calls):
    # Arguments that are no JSON stay text, as an agent would get them.
    def arguments(text):
        try:
            return json.loads(text)
        except ValueError:
            return text

    return {
        "reasoning": reasoning or None,
        "content": content or "",
        "calls": [[name, arguments(text)] for name, text in calls],
    }


def whole(parser, text, ids, chat):
    reasoning, content, calls = parser.parse(text, chat, True, ids)
    return result(reasoning, content, [(call.name, call.arguments) for call in calls or []])


def streamed(parser, ids, prompt_ids, chat):
    reasoning, content, calls, sent = "", "", {}, ""
    for i in range(len(ids)):
        text = tokenizer.decode(ids[: i + 1])
        is_last = i + 1 == len(ids)
        if text.endswith("\ufffd") and not is_last:
            continue
        delta = parser.parse_delta(text[len(sent) :], ids[i : i + 1], chat, prompt_ids, finished=is_last)
        sent = text
        if delta is None:
            continue
        reasoning += delta.reasoning or ""
        content += delta.content or ""
        for call in delta.tool_calls or []:
            name, arguments = calls.get(call.index, ("", ""))
            function = call.function
            calls[call.index] = (
                name + ((function and function.name) or ""),
                arguments + ((function and function.arguments) or ""),
            )
    return result(reasoning, content, [calls[index] for index in sorted(calls)])


def attempt(work):
    try:
        return work()
    except Exception as error:
        return {"error": type(error).__name__}


def read(case):
    chat = ChatCompletionRequest(
        model="m", messages=[{"role": "user", "content": "x"}], tools=request["tools"]
    )
    kind = ParserManager.get_parser(case["parser"], case.get("reasoning"), True)

    def parser():
        return kind(tokenizer, chat.tools, chat_template_kwargs={"enable_thinking": True})

    ids = tokenizer(case["text"], add_special_tokens=False)["input_ids"]
    prompt_ids = tokenizer(case.get("prompt", "x"), add_special_tokens=False)["input_ids"]
    return {
        "whole": attempt(lambda: whole(parser(), case["text"], ids, chat)),
        "streamed": attempt(lambda: streamed(parser(), ids, prompt_ids, chat)),
    }


request = json.load(sys.stdin)
tokenizer = PreTrainedTokenizerFast(tokenizer_file=request["tokenizer"], eos_token="<|im_end|>")
tokenizer.add_tokens(request["markers"], special_tokens=True)
# What vLLM logs goes elsewhere.
output, sys.stdout = sys.stdout, sys.stderr
json.dump([read(case) for case in request["cases"]], output, ensure_ascii=False)
