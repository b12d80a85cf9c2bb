"""Stub of the package: the first compilation of a game fails in the middle of the file."""

import os
import sys
import types


__version__ = "1"


class GameOptions:
    seeds = path = None


class EnvInfos:
    def __init__(self, **wanted):
        pass


class generator:
    attempts = 0

    @classmethod
    def compile_game(cls, game, options):
        cls.attempts += 1
        with open(options.path, "w") as file:
            file.write("half")
            if cls.attempts == 1:
                raise OSError("no space left")
            file.write(" and half")
        with open(os.path.splitext(options.path)[0] + ".json", "w") as file:
            file.write("beside")


class State(dict):
    policy_commands = None

    @property
    def feedback(self):
        return self["feedback"]


class Game:
    def __init__(self, path):
        self.texts = [open(path).read(), open(os.path.splitext(path)[0] + ".json").read()]

    def reset(self):
        return State(feedback=", ".join(self.texts))

    def close(self):
        pass


def start(path, wanted):
    return Game(path)


challenges = types.ModuleType("textworld.challenges")
challenges.CHALLENGES = {"tw-stub": ("", lambda settings, options: None)}
sys.modules["textworld.challenges"] = challenges
