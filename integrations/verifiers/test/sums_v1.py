"""Small taskset and harness of verifiers, whose agent posts the prompt to its endpoint."""

import json
import sys
import urllib.request
from collections.abc import Iterable

import verifiers.v1 as vf
from verifiers.v1.harness import Harness
from verifiers.v1.runtimes import ProgramResult

__all__ = ["SumsTaskset", "PostHarness"]


class SumData(vf.TaskData):
    answer: str


class SumTask(vf.Task[SumData]):
    @vf.reward
    async def right(self, trace) -> float:
        if self.data.answer == "broken":
            raise RuntimeError("the grader broke")
        return float(trace.last_reply.strip() == self.data.answer)

    @vf.reward(weight=0.5)
    async def short(self, trace) -> float:
        return float(len(trace.last_reply) < 4)


class SumsTaskset(vf.Taskset[SumTask, vf.TasksetConfig]):
    def load(self) -> Iterable[SumTask]:
        for a, b in [(1, 1), (2, 3)]:
            yield SumTask(SumData(prompt=f"{a}+{b}=", answer=str(a + b)), self.config.task)
        yield SumTask(SumData(prompt="0+0=", answer="broken"), self.config.task)


class PostHarness(Harness[vf.HarnessConfig]):
    NEEDS_CONTAINER = False
    EXECUTES_CODE = False

    async def launch(self, ctx, trace, runtime, endpoint, secret, mcp_urls, data):
        script = (
            "import json, sys, urllib.request as u\n"
            "url, key, model, prompt = sys.argv[1:]\n"
            "body = json.dumps({'model': model, 'messages': [{'role': 'user', 'content': prompt}]}).encode()\n"
            "headers = {'content-type': 'application/json', 'authorization': 'Bearer ' + key}\n"
            "print(u.urlopen(u.Request(url + '/chat/completions', body, headers)).status)"
        )
        args = [sys.executable, "-c", script, endpoint, secret, ctx.model, data.prompt]
        return await runtime.run_program(args, {})


def main(address):
    from verifiers.v1.serve.pool import serve_env
    from verifiers.v1.utils.loaders import resolve_env_config

    rows = SumsTaskset(vf.TasksetConfig(id="sums_v1"))
    print(json.dumps([task.data.model_dump(mode="json") for task in rows]), flush=True)
    harness = {"id": "sums_v1"}
    config = {"taskset": {"id": "sums_v1"}, "agent": {"harness": harness, "runtime": {"type": "subprocess"}}}
    serve_env(max_workers=1, address=address, config=resolve_env_config(config))


if __name__ == "__main__":
    main(sys.argv[1])
