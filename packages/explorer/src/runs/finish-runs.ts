/** Turns what a workflow returned into complete, checked experiences: ids, reward, policy version. */
import { WorkflowError, type Experience, type Metrics, type Task } from '@trinity-rft/core';
import {
  assertAligned,
  isUsableReward,
  mean,
  meanMetrics,
  unknownPolicyVersion,
  usableReward,
  withFields,
} from '@trinity-rft/core/internal';
import type {
  AgentModel,
  PendingOutput,
  WorkflowOutput,
  WorkflowResult,
} from '@trinity-rft/workflow';

export interface FinishedRun {
  readonly run: number;
  /** In step order; empty for evaluation. */
  readonly experiences: readonly Experience[];
  /** Reward of the last step; NaN while it is pending. */
  readonly reward: number;
  /** The reward is pending until then, in milliseconds since the epoch. @default it is not */
  readonly rewardDeadline?: number;
  /** Numbers of the run, `reward` among them. */
  readonly metrics: Metrics;
}

/**
 * Runs of a task that succeed or fail together: the whole group for a workflow that repeats by
 * itself, else one.
 */
export interface RunRange {
  readonly firstRun: number;
  readonly count: number;
}

export interface FinishOptions {
  readonly task: Task;
  /** Runs that the result must cover. */
  readonly range: RunRange;
  readonly model: AgentModel;
  /** Of every experience. @default nothing */
  readonly info?: Readonly<Record<string, unknown>>;
  /** When a reward that is pending from now on is given up. @default it may not be pending */
  readonly rewardDeadline?: (delayMs: number | undefined) => number;
}

/**
 * @throws WorkflowError when the result is not experiences or a score, a reward is missing, not
 * finite or too large, or runs are missing
 */
export function finishRuns(result: WorkflowResult, options: FinishOptions): readonly FinishedRun[] {
  const { task, range, model } = options;
  const recorded = model.extractExperiencesFromHistory();
  const { experiences, metrics } = Array.isArray(result)
    ? { experiences: result as readonly Experience[], metrics: {} }
    : isPendingOutput(result)
      ? unscored(recorded, result, options)
      : scored(recorded, result as WorkflowOutput | number, task);
  const rewardDeadline = isPendingOutput(result)
    ? options.rewardDeadline?.(result.deadlineMs)
    : undefined;
  if (experiences.length === 0)
    throw invalid(
      task,
      'returned no experiences',
      'Return at least one, or a reward after calling the model at least once.',
    );
  const checks = isPendingOutput(result) ? options : { ...options, rewardDeadline: undefined };
  const complete = experiences.map((experience) => completed(experience, recorded, checks));
  const runs = Map.groupBy(complete, (experience) => experience.eid.run);
  for (let run = range.firstRun; run < range.firstRun + range.count; run++) {
    if (!runs.has(run))
      throw invalid(
        task,
        `returned no experience of run ${run}`,
        'Set eid.run to runIdBase, runIdBase + 1, … when the workflow repeats runs itself.',
      );
  }
  return [...runs]
    .toSorted(([a], [b]) => a - b)
    .map(([run, members]) => ({ ...finishRun(run, members, metrics, task), rewardDeadline }));
}

const isPendingOutput = (result: WorkflowResult): result is PendingOutput =>
  typeof result === 'object' && 'pending' in result && result.pending;

function unscored(
  recorded: readonly Experience[],
  { metrics = {}, info = {}, deadlineMs = 0 }: PendingOutput,
  { task, rewardDeadline }: FinishOptions,
): { experiences: readonly Experience[]; metrics: Metrics } {
  if (!rewardDeadline || task.isEval)
    throw invalid(
      task,
      'returned a pending reward',
      'Only tasks of explore steps can wait for one: score evaluations, and runs of mode bench, at once.',
    );
  if (!Number.isFinite(deadlineMs) || deadlineMs < 0)
    throw invalid(task, `returned the deadlineMs ${deadlineMs}`, 'Return milliseconds, 0 or more.');
  const experiences = recorded.map((experience) =>
    withFields(experience, { reward: undefined, info: { ...experience.info, ...info } }),
  );
  return { experiences, metrics };
}

/** Every recorded call of the run gets the score; the metrics describe the run. */
function scored(
  recorded: readonly Experience[],
  output: WorkflowOutput | number,
  task: Task,
): { experiences: readonly Experience[]; metrics: Metrics } {
  const {
    reward,
    metrics = {},
    info = {},
  } = typeof output === 'number' ? { reward: output } : (output ?? { reward: undefined });
  if (typeof reward !== 'number')
    throw invalid(
      task,
      `returned ${output === undefined ? 'nothing' : JSON.stringify(output)}`,
      'Return experiences, a number, or { reward, metrics }.',
    );
  return {
    experiences: recorded.map((experience) =>
      withFields(experience, { reward, info: { ...experience.info, ...info } }),
    ),
    metrics,
  };
}

function completed(
  experience: Experience,
  recorded: readonly Experience[],
  { task, range, info, rewardDeadline }: FinishOptions,
): Experience {
  const { reward, eid } = experience;
  if (eid.suffix.includes('/'))
    throw invalid(
      task,
      `returned an experience with the eid.suffix "${eid.suffix}"`,
      'Leave "/" out of it: it separates the parts of a uid.',
    );
  if (reward === undefined && !task.isEval && !rewardDeadline)
    throw invalid(
      task,
      'returned an experience without a reward',
      'Set its reward to a finite number.',
    );
  const unusable = [reward ?? 0, ...(experience.tokenRewards ?? [])].find(
    (value) => !isUsableReward(value),
  );
  if (unusable !== undefined)
    throw invalid(task, `returned the reward ${unusable}`, `Return ${usableReward}.`);
  checkSteps(task, experience.info);
  // A workflow that builds an experience from a response may leave out who sampled it: the recorded
  // call knows.
  const source =
    experience.policyVersion === unknownPolicyVersion
      ? recorded.find((record) => sameTokens(record, experience))
      : undefined;
  const complete = withFields(experience, {
    eid: {
      ...eid,
      batch: task.batchId,
      task: eid.task === '' ? task.taskId : eid.task,
      run: range.count === 1 ? range.firstRun : eid.run,
    },
    ...(source && {
      policyVersion: source.policyVersion,
      temperature: source.temperature,
      logprobs: source.logprobs,
    }),
    info: { ...experience.info, ...info, taskset: task.index.taskset, row: task.index.row },
  });
  if (complete.policyVersion === unknownPolicyVersion) {
    throw invalid(
      task,
      'returned an experience whose tokens no recorded call produced',
      'Build experiences from what model.chat returned, or set policyVersion and temperature.',
    );
  }
  assertAligned(complete);
  return complete;
}

/** What algorithms that compare steps read; of another form it would count as if it were not there. */
function checkSteps(
  task: Task,
  { step_reward: reward, env_state_hash: state }: Experience['info'],
) {
  if (reward != null && !(typeof reward === 'number' && isUsableReward(reward)))
    throw invalid(
      task,
      `returned the info.step_reward ${shown(reward)}`,
      `Return ${usableReward}.`,
    );
  if (state != null && typeof state !== 'string' && typeof state !== 'number')
    throw invalid(
      task,
      `returned the info.env_state_hash ${shown(state)}`,
      'Return a text or a number that is equal in equal states, or leave it out.',
    );
}

const shown = (value: unknown): string =>
  typeof value === 'number' ? String(value) : JSON.stringify(value);

function sameTokens(a: Experience, b: Experience): boolean {
  return (
    a.promptLength === b.promptLength &&
    a.tokens.length === b.tokens.length &&
    a.tokens.every((token, i) => token === b.tokens[i])
  );
}

function finishRun(
  run: number,
  members: readonly Experience[],
  metrics: Metrics,
  task: Task,
): FinishedRun {
  // A stable sort: experiences of one step keep the order in which the workflow returned them.
  const steps = members.toSorted((a, b) => a.eid.step - b.eid.step);
  const reward = steps.at(-1)?.reward ?? Number.NaN;
  const own = meanMetrics(steps.map((step) => step.metrics));
  return {
    run,
    experiences: task.isEval
      ? []
      : steps.map((step, index) =>
          withFields(step, { eid: { ...step.eid, suffix: step.eid.suffix || index.toString(36) } }),
        ),
    reward,
    metrics: {
      ...own,
      ...metrics,
      ...(Number.isFinite(reward) && { reward }),
      steps: steps.length,
      response_tokens: mean(steps.map((step) => step.tokens.length - step.promptLength)),
    },
  };
}

function invalid(task: Task, what: string, fix: string): WorkflowError {
  return new WorkflowError(`Workflow "${task.workflow}" ${what}. ${fix}`, {
    code: 'WORKFLOW_RESULT',
  });
}
