import type { RewardFn, Task } from '@trinity-rft/core';
import { copyOf } from '@trinity-rft/core/support';
import type { RewardDefinition } from '@trinity-rft/workflow/reward';
import type { Registry } from '@trinity-rft/workflow/internal';

/**
 * Returns a function that finds the reward function of a task. The returned function creates each
 * reward function once per name and arguments.
 */
export function rewardFnFinder(
  registry: Registry<RewardDefinition>,
): (task: Task) => RewardFn | undefined {
  const created = new Map<string, RewardFn>();
  return ({ rewardFn: name, rewardFnArgs }) => {
    if (name === undefined) return undefined;
    const key = `${name}\n${JSON.stringify(rewardFnArgs)}`;
    const rewardFn = created.get(key) ?? registry.get(name).create(copyOf(rewardFnArgs));
    created.set(key, rewardFn);
    return rewardFn;
  };
}
