"""Plays a served world with OpenEnv's own client; reads actions from the argument, prints results as JSON."""

import json
import sys

from openenv.core.generic_client import GenericEnvClient

url, reset, actions = sys.argv[1], json.loads(sys.argv[2]), json.loads(sys.argv[3])
with GenericEnvClient(base_url=url).sync() as env:
    result = env.reset(**reset)
    seen = [[result.observation["message"], result.reward, result.done]]
    for action in actions:
        result = env.step({"message": action})
        seen.append([result.observation["message"], result.reward, result.done])
print(json.dumps(seen))
