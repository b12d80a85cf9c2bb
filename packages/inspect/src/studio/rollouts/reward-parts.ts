/** Finds which metrics are parts of the reward, from the newest rollouts of a training run. */
import type { ExperienceReader } from '@trinity-rft/buffer';
import type { Metrics } from '@trinity-rft/core';
import { newestRollouts, partNames, runsOf } from '../../diagnosis/index.js';

/** Number of the newest rows to read, and time in ms until they are read again. */
const [looked, againMs] = [128, 10_000];

/** Selects the metrics of a call that are parts of its reward. */
export type RewardParts = (metrics: Metrics) => Metrics;

export function rewardParts(reader: ExperienceReader): RewardParts {
  let names: readonly string[] = [];
  let until = 0;
  return (metrics) => {
    if (performance.now() >= until) {
      names = partNames(runsOf(newestRollouts(reader, looked)));
      until = performance.now() + againMs;
    }
    return Object.fromEntries(
      names.flatMap((name) => {
        const value = metrics[name];
        return value === undefined ? [] : [[name, value]];
      }),
    );
  };
}
