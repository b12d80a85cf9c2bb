"""A taskset of verifiers, whose reward is the share of digits in an answer, and its environment server."""

import json
import sys
from collections.abc import Iterable

import verifiers.v1 as vf
from verifiers.v1.harness import Harness

__all__ = ["DigitsTaskset", "PostHarness"]


class DigitsData(vf.TaskData):
    broken: bool = False


class DigitsTask(vf.Task[DigitsData]):
    @vf.reward
    async def digits(self, trace) -> float:
        if self.data.broken:
            raise RuntimeError("the grader broke")
        return sum(character in "0123456789" for character in trace.last_reply) / 4


class DigitsTaskset(vf.Taskset[DigitsTask, vf.TasksetConfig]):
    def load(self) -> Iterable[DigitsTask]:
        for a in range(1, 9):
            yield DigitsTask(DigitsData(prompt=f"{a}+{a + 1}="), self.config.task)
        yield DigitsTask(DigitsData(prompt="0+0=", broken=True), self.config.task)


SCRIPT = """
import json, sys, urllib.request
url, key, model, prompt = sys.argv[1:]
body = json.dumps({"model": model, "messages": [{"role": "user", "content": prompt}]}).encode()
headers = {"content-type": "application/json", "authorization": "Bearer " + key}
urllib.request.urlopen(urllib.request.Request(url + "/chat/completions", body, headers))
"""


class PostHarness(Harness[vf.HarnessConfig]):
    """The agent: a program that posts the prompt to its endpoint."""

    NEEDS_CONTAINER = False
    EXECUTES_CODE = False

    async def launch(self, ctx, trace, runtime, endpoint, secret, mcp_urls, data):
        args = [sys.executable, "-c", SCRIPT, endpoint, secret, ctx.model, data.prompt]
        return await runtime.run_program(args, {})


def main(address):
    from verifiers.v1.serve.pool import serve_env
    from verifiers.v1.utils.loaders import resolve_env_config

    rows = DigitsTaskset(vf.TasksetConfig(id="digits_v1"))
    print(json.dumps([task.data.model_dump(mode="json") for task in rows]), flush=True)
    agent = {"harness": {"id": "digits_v1"}, "runtime": {"type": "subprocess"}}
    config = resolve_env_config({"taskset": {"id": "digits_v1"}, "agent": agent})
    serve_env(max_workers=1, address=address, config=config)


if __name__ == "__main__":
    main(sys.argv[1])
