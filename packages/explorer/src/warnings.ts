/** Warnings about explore steps that succeed, but do not change the policy as expected. */
import type { Logger } from '@trinity-rft/core';

export interface StepWarnings {
  /**
   * Called after each explore step with the number of experiences that its rollouts yielded
   * (`collected`), and the number that the pipeline stored.
   */
  experiencesStored(collected: number, stored: number): void;
  /** Called with the result of `identicalGroupShare`. */
  groupsCompared(identicalShare: number | undefined): void;
  /**
   * Called with the number of rollouts whose calls have different rewards. Only the reward of the
   * last call counts.
   */
  rewardsDiffer(unevenRuns: number | undefined): void;
  /** Called with true if a `stats_key` named a number of no experience in the step. */
  statsUnused(isUnused: boolean): void;
}

export function createStepWarnings(logger: Logger): StepWarnings {
  return {
    experiencesStored: warnOfEmptySteps(logger),
    groupsCompared: warnOfIdenticalGroups(logger),
    rewardsDiffer: warnOfUnevenRuns(logger),
    statsUnused: warnOfUnusedStats(logger),
  };
}

/** Number of consecutive empty steps before the first warning. */
const emptyStepsAllowed = 3;

/** Warns again each time the number of consecutive empty steps has doubled. */
function warnOfEmptySteps(logger: Logger): StepWarnings['experiencesStored'] {
  let emptySteps = 0;
  let warnAt = emptyStepsAllowed;
  return (collected, stored) => {
    if (stored > 0) {
      emptySteps = 0;
      warnAt = emptyStepsAllowed;
    }
    if (stored > 0 || collected === 0) return;
    emptySteps++;
    if (emptySteps < warnAt) return;
    warnAt = emptySteps * 2;
    logger.warn(
      `Nothing was left to train on of the last ${emptySteps} explore steps: operators or the advantage function dropped every experience. Expected some to stay. Look at experience_pipeline/*/filtered_count; tasks may be too easy or too hard for the model, or a threshold too high.`,
    );
  };
}

/** Warns once, when the rollouts of every group in a step began with the same completion. */
function warnOfIdenticalGroups(logger: Logger): StepWarnings['groupsCompared'] {
  let warned = false;
  return (identicalShare) => {
    if (warned || identicalShare !== 1) return;
    warned = true;
    logger.warn(
      'In every group of this step, all runs began with the same completion, so their rewards cannot tell them apart. Expected different completions. Check for a temperature near 0, an agent that answers from a cache or keeps memory between runs, or a task that the model has already learned. This warning appears once; rollout/identical_group_share is written with every step.',
    );
  };
}

/** Warns once, when the calls of rollouts have different rewards. */
function warnOfUnevenRuns(logger: Logger): StepWarnings['rewardsDiffer'] {
  let warned = false;
  return (unevenRuns = 0) => {
    if (warned || unevenRuns === 0) return;
    warned = true;
    logger.warn(
      `The calls of ${unevenRuns} runs have different rewards. Runs are compared by the reward of their last call; the others have no effect. The workflow has given them, or an operator that changes the reward of each call by itself. Give every call of a run the same reward; or choose gigpo, which adds up info.step_reward of the calls, and let the workflow write it, as StepWiseRewardWorkflow does; or choose grpo, which compares calls instead of runs with advantage_fn_args: { compare: calls }. This warning appears once; experience_pipeline/group_advantages/uneven_runs is written with every such step.`,
    );
  };
}

/** Warns once, when a `stats_key` named a number of no experience in a step. */
function warnOfUnusedStats(logger: Logger): StepWarnings['statsUnused'] {
  let warned = false;
  return (isUnused) => {
    if (warned || !isUnused) return;
    warned = true;
    logger.warn(
      'A stats_key of reward_shaping_mapper names a number of no experience in this step, so its operation changed no reward. Expected a number that the workflow puts into info or the metrics. Correct the name, unless other tasks have it. This warning appears once; unused_stats_count of the operator is written with every step.',
    );
  };
}
