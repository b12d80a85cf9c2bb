"""Worlds of the bridge whose instructions are the actions that solve them, as JSON."""

import json

import __main__ as bridge


class Solved:
    def reset(self, seed, task):
        observation, info = super().reset(seed, task)
        return observation, {"instructions": json.dumps(info["solution"])}


class ScienceWorld(Solved, bridge.ScienceWorld):
    pass


class TextWorld(Solved, bridge.TextWorld):
    pass
