"""Worlds of the user's own. Guess a number, with hints; it prints, as libraries do."""

import random


class Guess:
    def __init__(self, most=9):
        if most < 1:
            raise ValueError("most is {}.".format(most))
        self.most = most

    def reset(self, seed, task):
        print("a word to standard output")
        self.number = random.Random(seed).randint(0, self.most)
        return "Guess a number from 0 to {}.".format(self.most), {"instructions": task.get("how", "Guess.")}

    def step(self, action):
        print("another")
        if not action.strip().isdecimal():
            return "That is no number.", None, False, {"refused": True}
        if int(action) == self.number:
            return "Right.", 1, True
        if int(action) > self.most:
            return "Far off.", 0, False, True, {}
        return "Too low." if int(action) < self.number else "Too high.", 0.0, False


class Evaluate:
    """Answers with the values of the Python expressions in the row and in the actions."""

    def reset(self, seed, task):
        return eval(task.get("begins", "'begun'"))

    def step(self, action):
        return eval(action)


class BadAnswer(ValueError):
    pass


failures = {
    "refused": ConnectionRefusedError("no server yet"),
    "socket": FileNotFoundError(2, "No such file or directory"),
    "answer": BadAnswer("no JSON"),
    "thread": RuntimeError("can't start new thread"),
    "gateway": KeyError("games"),
}


class Unreachable:
    def __init__(self, failure):
        raise failures[failure]
