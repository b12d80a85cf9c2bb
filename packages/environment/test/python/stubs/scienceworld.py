"""Stub of the package: the action "break" breaks a world for good. Observations count the worlds made and closed."""


class ScienceWorldEnv:
    made = closed = 0

    def __init__(self, name, envStepLimit):
        ScienceWorldEnv.made += 1
        self.broken = False

    def get_max_variations(self, name):
        return 1

    def load(self, name, variation, simplifications, generateGoldPath):
        if self.broken:
            raise OSError("the Java virtual machine has ended")

    def reset(self):
        return "{} made, {} closed".format(self.made, self.closed), {}

    def get_task_description(self):
        return "Do."

    def step(self, action):
        self.broken = action == "break"
        self.load(None, None, None, None)
        return "on", 0, False, {"score": 0}

    def close(self):
        ScienceWorldEnv.closed += 1
