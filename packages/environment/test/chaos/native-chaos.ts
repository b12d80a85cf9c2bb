/** Injects faults into an environment in this process: it throws, never answers, or answers wrongly. */
import type { Environment, Episode, StepResult } from '../../src/seam/types.js';
import type { ChaosOptions, FaultKind } from './faults.js';

const kinds: readonly FaultKind[] = ['kill', 'hang', 'delay', 'late', 'corrupt'];

export const chaoticEnvironment = (inner: Environment, chaos: ChaosOptions): Environment => ({
  reset: async (start, signal) => {
    await meet(chaos);
    return chaoticEpisode(await inner.reset(start, signal), chaos);
  },
  close: () => inner.close(),
});

const chaoticEpisode = (inner: Episode, chaos: ChaosOptions): Episode => ({
  ...inner,
  step: async (action, signal) => {
    const isCorrupt = await meet(chaos);
    const result = await inner.step(action, signal);
    return isCorrupt ? corrupted(result) : result;
  },
});

/** Applies a fault. Returns true if the answer must be wrong. */
async function meet({ inject, delayMs, lateMs }: ChaosOptions): Promise<boolean> {
  const fault = inject(kinds);
  if (fault === 'kill') throw new TypeError('The world broke.');
  if (fault === 'hang') await new Promise(() => undefined);
  if (fault === 'delay' || fault === 'late')
    await new Promise((resolve) =>
      setTimeout(resolve, fault === 'late' ? lateMs : delayMs).unref(),
    );
  return fault === 'corrupt';
}

const corrupted = (result: StepResult): StepResult =>
  result.reward === undefined
    ? ({ ...result, observation: undefined } as unknown as StepResult)
    : { ...result, reward: Number.NaN };
