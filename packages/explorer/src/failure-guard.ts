import { WorkflowError } from '@trinity-rft/core';
import { causesOf } from '@trinity-rft/core/support';
import type { ExperienceStore } from '@trinity-rft/core/store';
import type { ExplorerState } from './explorer-options.js';
import { isWorthRetrying } from './runs/classify-failure.js';
import { isOk, type TaskOutcome } from './runs/outcome.js';

/**
 * Number of consecutive explore steps without a successful rollout after which the stage is
 * stopped.
 */
const maxFailedSteps = 3;

/**
 * Stops a stage in which every rollout fails. Before that, resets the explorer's state in the store
 * to the last step with a successful rollout, so that a resumed training run repeats the tasks of
 * the failed steps.
 */
export interface FailureGuard {
  /** Sets the state to which the guard rewinds if no step has a successful rollout. */
  start(state: ExplorerState): void;
  /**
   * Called after an explore step was stored.
   * @throws WorkflowError at the third consecutive step in which every rollout failed
   */
  stepDone(outcomes: readonly TaskOutcome[], state: ExplorerState): Promise<void>;
  /** Called after the last step. @throws WorkflowError if no rollout of the stage succeeded */
  end(): Promise<void>;
}

/** Returns true if a failure, or a cause of it, would be the same in another attempt. */
const willRepeat = (error: Error | undefined): boolean =>
  causesOf(error).some((each) => !isWorthRetrying(each));

export function createFailureGuard(store: ExperienceStore): FailureGuard {
  const none = { steps: 0, runs: 0, firstError: undefined as Error | undefined };
  let failed = none;
  let lastGood: ExplorerState | undefined;

  const stop = async (): Promise<never> => {
    const { steps, runs, firstError } = failed;
    if (lastGood) await store.put([], { ...lastGood });
    // `describeError` appends the first failure, so the message ends with the words that name it.
    throw new WorkflowError(
      `All ${runs} runs of the last ${steps === 1 ? 'explore step' : `${steps} explore steps`} failed. Start the run again, which continues after explore step ${lastGood?.step ?? 0}, when the cause of the first failure is fixed.`,
      {
        code: 'ALL_RUNS_FAILED',
        details: { steps, runs, willRepeat: willRepeat(firstError) },
        cause: firstError,
      },
    );
  };

  return {
    start: (state) => {
      lastGood = state;
    },
    stepDone: async (outcomes, state) => {
      const runs = outcomes.flatMap((outcome) => outcome.runs);
      if (runs.some(isOk)) {
        lastGood = state;
        failed = none;
        return;
      }
      const firstFailure = runs.find((run) => !isOk(run));
      failed = {
        steps: failed.steps + 1,
        runs: failed.runs + runs.length,
        firstError: failed.firstError ?? firstFailure?.error,
      };
      if (failed.steps >= maxFailedSteps) await stop();
    },
    end: async () => {
      if (failed.steps > 0 && lastGood?.step === 0) await stop();
    },
  };
}
