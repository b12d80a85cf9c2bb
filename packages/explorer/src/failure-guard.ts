/** When to stop because nothing works: exploring on would use the tasks up and train nothing. */
import { WorkflowError, type ExperienceStore } from '@trinity-rft/core';
import { isOk } from './metrics/rollout-metrics.js';
import type { TaskOutcome } from './runs/run-task.js';
import type { ExplorerState } from './explorer-state.js';

/** Explore steps in a row without one run that succeeded. */
const patience = 3;

/**
 * Watches explore steps; each failure rewinds the store to the last step that worked, so that its
 * tasks are not lost.
 */
export interface Despair {
  /** @param state where the explorer begins */
  startFrom(state: ExplorerState): void;
  /**
   * After a step was stored.
   * @throws WorkflowError at the third step in a row in which every run failed
   */
  watch(outcomes: readonly TaskOutcome[], state: ExplorerState): Promise<void>;
  /** After the last step. @throws WorkflowError when not one run of the stage succeeded */
  atEnd(): Promise<void>;
}

export function createDespair(store: ExperienceStore): Despair {
  let good: ExplorerState | undefined;
  let failed: { steps: number; runs: number; first: Error | undefined } = {
    steps: 0,
    runs: 0,
    first: undefined,
  };

  const stop = async (): Promise<never> => {
    const { steps, runs, first } = failed;
    if (good) await store.put([], { ...good });
    throw new WorkflowError(
      `Not one of the ${runs} runs of the last ${steps} explore step${steps > 1 ? 's' : ''} succeeded. Mend what made the first of them fail, and start again: the run goes on after explore step ${good?.step ?? 0}.`,
      { code: 'ALL_RUNS_FAILED', details: { steps, runs }, cause: first },
    );
  };

  return {
    startFrom: (state) => {
      good = state;
    },
    watch: async (outcomes, state) => {
      const runs = outcomes.flatMap((outcome) => outcome.runs);
      if (runs.some(isOk)) {
        good = state;
        failed = { steps: 0, runs: 0, first: undefined };
        return;
      }
      const first = runs.find((run) => !isOk(run));
      failed = {
        steps: failed.steps + 1,
        runs: failed.runs + runs.length,
        first: failed.first ?? (first && !isOk(first) ? first.error : undefined),
      };
      if (failed.steps >= patience) await stop();
    },
    atEnd: async () => {
      if (failed.steps > 0 && good?.step === 0) await stop();
    },
  };
}
