"""Python environments for @trinity-rft/environment: a JSON message on each line of standard input and output.

> {"id": 1, "method": "make", "params": {"kind": "textarena", "name": "FrozenLake-v0", "config": {}}}
> {"id": 2, "method": "reset", "params": {"episode": "e1", "seed": 7, "task": {}}}
< {"id": 2, "result": {"observation": "...", "info": {}}}
> {"id": 3, "method": "step", "params": {"episode": "e1", "action": "[down]"}}
< {"id": 3, "result": {"observation": "...", "reward": 1.0, "done": true, "info": {}}}
> {"id": 4, "method": "close", "params": {"episode": "e1"}}
< {"id": 5, "error": {"type": "KeyError", "message": "'e9'"}}

An environment has `reset(seed=..., task=...)`, which returns an observation or (observation, info), and `step(action)`,
which returns (observation, reward, done), (observation, reward, done, info), or Gymnasium's five values.
An observation is a str; a reward is a finite number, or None. Of `info`, only `refused`, `truncated` and `instructions`
are read. `close()` is optional.
"""

import hashlib
import importlib
import json
import math
import os
import re
import select
import signal
import sys
import tempfile
import time
import warnings

warnings.filterwarnings("ignore")


class Gymnasium:
    """Text spaces, and numbered actions by number or by the names in `actions`.

    Spaces that other packages define get the text, except those with `n`, whose actions are numbers.
    """

    def __init__(self, name, actions=None, **config):
        import gymnasium

        self.env, self.actions = gymnasium.make(name, **config), actions or []
        space = self.env.action_space
        if type(space).__module__.startswith("gymnasium.spaces.") and type(space).__name__ not in ("Discrete", "Text"):
            problem = "The actions of {} are {}; expected Discrete or Text. Write a class that reads them from text, and name it in kind: MODULE:CLASS"
            raise TypeError(problem.format(name, space))

    def see(self, observation):
        drawn = self.env.render() if self.env.render_mode == "ansi" else None
        return drawn if isinstance(drawn, str) else str(observation)

    def reset(self, seed, task):
        observation, _ = self.env.reset(seed=seed, options=task.get("options"))
        return self.see(observation)

    def step(self, action):
        space, word = self.env.action_space, action.strip()
        if hasattr(space, "n"):
            first, number = int(getattr(space, "start", 0)), None
            if word in self.actions:
                number = first + self.actions.index(word)
            elif re.fullmatch(r"-?\d{1,18}", word):
                number = int(word)
            if number is None or not space.contains(number):
                names = ", ".join(self.actions) or "a number from {} to {}".format(first, first + space.n - 1)
                return "That is no action. Write {}.".format(names), None, False, {"refused": True}
            action = number
        observation, reward, terminated, truncated, _ = self.env.step(action)
        return self.see(observation), reward, terminated, truncated, {}

    def close(self):
        self.env.close()


class TextArena:
    """Games for one player. The observations repeat the history, so only what is new is sent."""

    def __init__(self, name, **config):
        import textarena

        self.env = textarena.make(name, **config)

    def see(self):
        before, now = self.text, self.env.get_observation()[1]
        now = now if isinstance(now, str) else "\n".join(str(message[1]) for message in now)
        self.text = now
        return now[len(before):].strip("\n") if now.startswith(before) else now

    def reset(self, seed, task):
        self.text = ""
        self.env.reset(num_players=1, seed=seed)
        return self.see()

    def step(self, action):
        done, _ = self.env.step(action)
        if not done:
            return self.see(), None, False
        rewards, info = self.env.close()
        # A game without an outcome has no rewards; the bridge's caller tells that from a reward of 0.
        return "", (rewards or {}).get(0), True


class ReasoningGym:
    """A question and its grader. A task may have its own `config`."""

    def __init__(self, name, **config):
        import reasoning_gym

        self.create, self.name, self.config = reasoning_gym.create_dataset, name, config

    def reset(self, seed, task):
        config = {**self.config, **task.get("config", {})}
        self.data = self.create(task.get("name", self.name), size=1, seed=seed, **config)
        return self.data[0]["question"]

    def step(self, action):
        return "", self.data.score_answer(answer=action, entry=self.data[0]), True


class TextWorld:
    """A game file, in `name` or a task's `game`, or a challenge such as tw-simple that is generated from the seed."""

    def __init__(self, name, **config):
        import textworld

        self.textworld, self.name, self.config, self.env = textworld, name, config, None

    def game(self, seed, name):
        from textworld.challenges import CHALLENGES

        if name not in CHALLENGES:
            return name
        of = json.dumps([self.textworld.__version__, name, seed, self.config], sort_keys=True)
        key = hashlib.sha256(of.encode()).hexdigest()[:32]
        games, file = tempfile.gettempdir(), "trinity-{}-{}.z8".format(name, key)
        if not os.path.exists(os.path.join(games, file)):
            # Other processes see the game only when it is complete; its file comes after those beside it.
            with tempfile.TemporaryDirectory(dir=games) as folder:
                options = self.textworld.GameOptions()
                options.seeds, options.path = seed, os.path.join(folder, file)
                game = CHALLENGES[name][1]({"test": False, **self.config}, options)
                self.textworld.generator.compile_game(game, options)
                for made in sorted(os.listdir(folder), key=lambda made: made == file):
                    os.replace(os.path.join(folder, made), os.path.join(games, made))
        return os.path.join(games, file)

    def reset(self, seed, task):
        self.close()
        wanted = self.textworld.EnvInfos(max_score=True, score=True, won=True, lost=True, policy_commands=True)
        self.env = self.textworld.start(self.game(seed, task.get("game", self.name)), wanted)
        state, self.score = self.env.reset(), 0
        return state.feedback, {"solution": state.policy_commands}

    def step(self, action):
        state, score, done = self.env.step(action)
        reward, self.score = (score - self.score) / (state.max_score or 1), score
        return state.feedback, reward, done

    def close(self):
        if self.env:
            self.env.close()


class ScienceWorld:
    """A task by name, such as find-living-thing; its variation is that of the task or of the seed.

    The seed selects a variation that is not for testing. A task that was generated for an evaluation plays the variation
    for testing of its number, modulo how many there are.
    """

    idle, known = [], {}

    def __init__(self, name, simplifications="easy", steps=100, solution=False):
        self.name, self.simplifications, self.steps, self.solution = name, simplifications, steps, solution
        self.env = None

    def reset(self, seed, task):
        self.works = False
        # Each has a Java virtual machine, whose start takes seconds.
        if self.env is None:
            from scienceworld import ScienceWorldEnv

            self.env = self.idle.pop() if self.idle else ScienceWorldEnv("", envStepLimit=self.steps)
        name = task.get("name", self.name)
        variation = task.get("variation")
        if variation is None:
            index = task.get("generated_index", seed) if task.get("generated_for") == "eval" else None
            variation = self.drawn(name, index, seed)
        self.env.load(name, variation, self.simplifications, generateGoldPath=self.solution)
        observation, _ = self.env.reset()
        self.score = 0
        info = {"solution": self.env.get_gold_action_sequence()} if self.solution else {}
        description = self.env.get_task_description()
        self.works = True
        return description + "\n" + observation, info

    def drawn(self, name, eval_index, seed):
        if name not in self.known:
            # The lists are those of the task that is loaded.
            self.env.load(name, 0, self.simplifications)
            self.known[name] = self.env.get_variations_train(), self.env.get_variations_test()
        train, test = self.known[name]
        if eval_index is not None:
            return test[eval_index % len(test)]
        variation = seed % self.env.get_max_variations(name)
        return train[seed % len(train)] if variation in test else variation

    def step(self, action):
        self.works = False
        observation, _, done, info = self.env.step(action)
        self.works = True
        # It ends with -100 after an action that cannot be undone.
        score = max(0, info["score"]) / 100
        reward, self.score = score - self.score, score
        return observation, reward, done

    def close(self):
        env, self.env = self.env, None
        if env and self.works:
            self.idle.append(env)
        elif env:
            env.close()


kinds = {
    "gymnasium": Gymnasium,
    "textarena": TextArena,
    "reasoning_gym": ReasoningGym,
    "textworld": TextWorld,
    "scienceworld": ScienceWorld,
}


def checked(text, what):
    if isinstance(text, str):
        return text
    raise TypeError("{} of type {}; expected str".format(what, type(text).__name__))


class Bridge:
    def __init__(self):
        self.episodes = {}

    def make(self, kind, name, config, path):
        sys.path.insert(0, path)
        module, _, function = kind.partition(":")
        create = getattr(self.imported(module, path), function) if function else kinds[kind]
        self.create = lambda: create(**config) if name is None else create(name, **config)
        # Finds out at once what is not installed.
        self.spare = self.create()

    def imported(self, module, path):
        try:
            return importlib.import_module(module)
        except ModuleNotFoundError as error:
            raise ModuleNotFoundError("{}, neither there nor in the folder {}".format(error, path))

    def reset(self, episode, seed, task):
        env, self.spare = self.spare or self.create(), None
        self.episodes[episode] = env
        result = env.reset(seed=seed, task=task)
        observation, info = result if isinstance(result, tuple) else (result, {})
        read, instructions = {}, (info or {}).get("instructions")
        if instructions is not None:
            read["instructions"] = checked(instructions, "reset returned instructions")
        return {"observation": checked(observation, "reset returned an observation"), "info": read}

    def step(self, episode, action):
        result = self.episodes[episode].step(action)
        observation, reward, done, *rest = result
        truncated, info = rest if len(rest) == 2 else (False, rest[0] if rest else {})
        info = info or {}
        read = {"refused": bool(info.get("refused")), "truncated": bool(truncated or info.get("truncated"))}
        reward = None if reward is None else float(reward)
        if reward is not None and not math.isfinite(reward):
            raise ValueError("step returned the reward {}; expected a finite number, or None".format(reward))
        observation = checked(observation, "step returned an observation")
        return {"observation": observation, "reward": reward, "done": bool(done or read["truncated"]), "info": read}

    def close(self, episode):
        env = self.episodes.pop(episode, None)
        if hasattr(env, "close"):
            env.close()


def watch(requests, bridge):
    """Ends the group when the client or the bridge has ended, even if an environment keeps the interpreter busy."""
    poll = select.poll()
    poll.register(requests, getattr(select, "POLLRDHUP", select.POLLHUP))
    while not poll.poll(0) and is_alive(bridge):
        time.sleep(1)
    os.killpg(0, signal.SIGKILL)


def is_alive(process):
    try:
        os.kill(process, 0)
        return True
    except OSError:
        return False


mistakes = (TypeError, AttributeError, NameError, ValueError, AssertionError, SyntaxError, IndentationError)


def is_mistake(error):
    """True for errors of names and arguments, which every attempt raises again.

    Subclasses do not count: libraries derive errors that may pass from these, such as that of an answer that is no JSON.
    """
    return type(error) in mistakes or type(error).__module__ == "gymnasium.error"


def main():
    # Libraries use standard input and output: only these copies carry messages.
    requests, wire = os.fdopen(os.dup(0), encoding="utf-8"), os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    own = os.getpid()
    if hasattr(os, "fork") and os.getpgrp() == own:
        child = os.fork()
        if child == 0:
            # A world that waits for its children does not wait for a grandchild.
            if os.fork() > 0:
                os._exit(0)
            # The client reads these to their end.
            for held in (wire.fileno(), 1, 2):
                os.close(held)
            watch(requests, own)
        os.waitpid(child, 0)
    bridge = Bridge()
    for line in requests:
        message = json.loads(line)
        answer = {"id": message["id"]}
        try:
            answer["result"] = getattr(bridge, message["method"])(**message["params"])
            text = json.dumps(answer, allow_nan=False)
        except Exception as error:
            problem = {"type": type(error).__name__, "message": str(error)[:1000], "mistake": is_mistake(error)}
            text = json.dumps({"id": message["id"], "error": problem})
        wire.write(text + "\n")
        wire.flush()


if __name__ == "__main__":
    main()
