"""Runs AgentScope's ReActAgent: reads a task as JSON from standard input, and prints the reward."""
import asyncio
import contextlib
import json
import os
import re
import sys
from typing import Dict

from agentscope.agent import ReActAgent
from agentscope.formatter import OpenAIChatFormatter
from agentscope.message import Msg, TextBlock
from agentscope.model import OpenAIChatModel
from agentscope.tool import Toolkit, ToolResponse
from pydantic import BaseModel, Field


class ResponseStructure(BaseModel):
    """Response structure for math tasks."""

    result: str = Field(description="Final answer to the math problem.")


def calculator(expression: str) -> ToolResponse:
    """Multiplies two whole numbers.

    Args:
        expression (str): for example 12*34
    """
    factors = re.fullmatch(r"(\d+)\*(\d+)", expression)
    text = str(int(factors[1]) * int(factors[2])) if factors else "error"
    return ToolResponse(content=[TextBlock(type="text", text=text)])


def calculate_reward(answer: str, truth: str) -> float:
    """1.0 for an exact match, else 0.0."""
    return 1.0 if answer.strip() == truth.strip() else 0.0


async def react_agent_workflow(task: Dict, model: OpenAIChatModel) -> float:
    toolkit = Toolkit()
    toolkit.register_tool_function(calculator)
    agent = ReActAgent(
        name="react_agent",
        sys_prompt="You are a helpful math problem solving agent.",
        model=model,
        enable_meta_tool=True,
        formatter=OpenAIChatFormatter(),
        toolkit=toolkit,
        max_iters=4,
    )
    response = await agent.reply(
        msg=Msg("user", task["question"], role="user"),
        structured_model=ResponseStructure,
    )
    # The metadata is missing if no iteration gave a structured answer.
    answer = (response.metadata or {}).get("result", "")
    return calculate_reward(answer, task["answer"])


if __name__ == "__main__":
    chat_model = OpenAIChatModel(
        model_name=os.environ["TRINITY_MODEL"],
        api_key=os.environ["OPENAI_API_KEY"],
        stream=False,
        client_kwargs={"base_url": os.environ["OPENAI_BASE_URL"], "max_retries": 0},
    )
    # The agent prints its messages, but standard output is reserved for the reward.
    with contextlib.redirect_stdout(sys.stderr):
        reward = asyncio.run(react_agent_workflow(json.load(sys.stdin), chat_model))
    print(reward)
