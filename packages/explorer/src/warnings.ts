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
  /** Called with the number of states in which steps of the explore step began, with `gigpo`. */
  statesCompared(states: number | undefined): void;
  /**
   * Called with the mean numbers of tool calls that were left in the text (`unread`) and that were
   * parsed (`read`).
   */
  callsUnread(calls: { readonly unread?: number; readonly read?: number }): void;
}

export function createStepWarnings(logger: Logger): StepWarnings {
  return {
    experiencesStored: warnOfEmptySteps(logger),
    groupsCompared: once(logger, (share) => (share === 1 ? identicalGroups : undefined)),
    rewardsDiffer: once(logger, (runs = 0) => (runs > 0 ? unevenRuns(runs) : undefined)),
    statsUnused: once(logger, (isUnused) => (isUnused ? unusedStats : undefined)),
    callsUnread: once(logger, ({ unread = 0, read = 0 }) =>
      unread > 0 && unread >= read ? unreadCalls : undefined,
    ),
    statesCompared: once(logger, (states) => (states === 0 ? missingStates : undefined)),
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

/**
 * Returns a function that logs the first text that `textOf` returns. Each text says that it appears
 * once.
 */
function once<Seen>(
  logger: Logger,
  textOf: (seen: Seen) => string | undefined,
): (seen: Seen) => void {
  let warned = false;
  return (seen) => {
    const text = warned ? undefined : textOf(seen);
    if (text === undefined) return;
    warned = true;
    logger.warn(text);
  };
}

const unevenRuns = (runs: number): string =>
  `The calls of ${runs} runs have different rewards. Runs are compared by the reward of their last call; the others have no effect. The workflow has given them, or an operator that changes the reward of each call by itself. Give every call of a run the same reward; or choose gigpo, which adds up info.step_reward of the calls, and let the workflow write it, as StepWiseRewardWorkflow does; or choose grpo, which compares calls instead of runs with advantage_fn_args: { compare: calls }. This warning appears once; experience_pipeline/group_advantages/uneven_runs is written with every such step.`;

const identicalGroups =
  'In every group of this step, all runs began with the same completion, so their rewards cannot tell them apart. Expected different completions. Check for a temperature near 0, an agent that answers from a cache or keeps memory between runs, or a task that the model has already learned. This warning appears once; rollout/identical_group_share is written with every step.';

const unusedStats =
  'A stats_key of reward_shaping_mapper names a number of no experience in this step, so its operation changed no reward. Expected a number that the workflow puts into info or the metrics. Correct the name, unless other tasks have it. This warning appears once; unused_stats_count of the operator is written with every step.';

const missingStates =
  'No experience of this step names the state of its environment, so gigpo compares whole runs only, as grpo does: omega and anchor_scope have no effect. Expected a text or number in info.env_state_hash, or under advantage_fn_args.env_state_hash_key. Let the workflow write it, or use algorithm_type: grpo. This warning appears once; experience_pipeline/gigpo/anchor_groups_total is written with every step.';

const unreadCalls =
  'Answers call tools in the syntax that the chat template shows, which tool_call_parser does not read, so the agent gets the calls as text and no tool runs. Set explorer.rollout_model.tool_call_parser: auto, unless the agent itself reads calls from the text. This warning appears once; rollout/model/unread_tool_calls is written with every step.';
