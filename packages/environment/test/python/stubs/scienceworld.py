"""Stub of the package: the action "break" breaks a world for good. Observations count the worlds made and closed."""


class ScienceWorldEnv:
    made = closed = 0

    def __init__(self, name, envStepLimit):
        ScienceWorldEnv.made += 1
        self.broken = False

    def get_max_variations(self, name):
        return 5

    def get_variations_train(self):
        return [0, 1]

    def get_variations_test(self):
        return [3, 4]

    def load(self, name, variation, simplifications, generateGoldPath=False):
        self.variation = variation
        if self.broken:
            raise OSError("the Java virtual machine has ended")

    def reset(self):
        return "{} made, {} closed".format(self.made, self.closed), {}

    def get_task_description(self):
        return "Do {}.".format(self.variation)

    def step(self, action):
        self.broken = action == "break"
        self.load(None, None, None, None)
        return "on", 0, False, {"score": 0}

    def close(self):
        ScienceWorldEnv.closed += 1
