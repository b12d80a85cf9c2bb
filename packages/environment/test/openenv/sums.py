"""An environment of the official OpenEnv library: three sums in a row, each pays a third."""

import random
import sys

import uvicorn
from openenv.core.env_server.http_server import create_app
from openenv.core.env_server.interfaces import Environment
from openenv.core.env_server.types import Action, Observation, State


class Answer(Action):
    answer: str


class Question(Observation):
    question: str | None = None


class Sums(Environment):
    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self):
        super().__init__()
        self._state = State(episode_id=None, step_count=0)

    def ask(self, reward, done):
        self.sum = [self.random.randint(1, 99) for _ in range(2)]
        question = None if done else "{} + {}".format(*self.sum)
        return Question(question=question, reward=reward, done=done)

    def list_splits(self):
        return ["train", "test"]

    def num_tasks(self, split):
        return 7

    # As in the templates of the library.
    def reset(self, seed=None, episode_id=None, split=None, index=None, **kwargs):
        if (split is None) != (index is None):
            raise ValueError("split and index must be provided together")
        self.random = random.Random(seed if split is None else "{} {}".format(split, index))
        self._state = State(episode_id=episode_id, step_count=0)
        return self.ask(0.0, False)

    def step(self, action, timeout_s=None, **kwargs):
        self._state.step_count += 1
        right = action.answer.strip() == str(sum(self.sum))
        return self.ask(right / 3, self._state.step_count == 3)

    @property
    def state(self):
        return self._state


app = create_app(Sums, Answer, Question, env_name="sums", max_concurrent_envs=4)
uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="warning")
