/**
 * Converts the result of a workflow to complete, checked experiences with ids, reward and policy
 * version.
 */
import {
  WorkflowError,
  type Experience,
  type Metrics,
  type Task,
  isUsableReward,
  mean,
  meanMetrics,
  taskTruth,
  uid,
  unknownPolicyVersion,
  usableReward,
  withFields,
} from '@trinity-rft/core';
import { assertAligned, readExperience } from '@trinity-rft/core/internal';
import { returnedBy, type Returned } from '@trinity-rft/core/support';
import type { AgentModel } from '@trinity-rft/workflow';
import type { Reasons } from './reasons.js';

export interface FinishedRun {
  readonly run: number;
  /** Experiences in step order; empty for evaluations. */
  readonly experiences: readonly Experience[];
  /**
   * Experiences of an evaluation, which are not trained on.
   * @default undefined: the task is not an evaluation
   */
  readonly answers?: readonly Experience[];
  /**
   * Reward of the last step. NaN while the reward is pending, and for an evaluation without a
   * reward.
   */
  readonly reward: number;
  /**
   * Deadline of a pending reward, in milliseconds since the epoch.
   * @default undefined: the reward is not pending
   */
  readonly rewardDeadline?: number;
  /** Metrics of the rollout, including `reward`. */
  readonly metrics: Metrics;
}

/**
 * Rollouts of a task that one attempt executes: the whole group for a workflow with `canRepeat`,
 * otherwise a single rollout.
 */
export interface RunRange {
  readonly firstRun: number;
  readonly count: number;
}

export interface FinishOptions {
  readonly task: Task;
  /** Rollouts for which the result must contain experiences, except those in `failed`. */
  readonly range: RunRange;
  /**
   * Errors of the rollouts of a group that failed individually, by rollout number.
   * @default no failed rollouts
   */
  readonly failed?: ReadonlyMap<number, unknown>;
  readonly model: AgentModel;
  /** Experiences that were cleared from the history, and count as recorded. @default none */
  readonly extracted?: readonly Experience[];
  /** Info that is added to every experience. @default empty */
  readonly info?: Readonly<Record<string, unknown>>;
  /**
   * Adds the reasons that the reward function has returned to the experiences. @default undefined:
   * no reasons are added
   */
  readonly reasons?: Pick<Reasons, 'addTo'>;
  /**
   * Returns the deadline of a reward that is pending from now on, in milliseconds since the epoch.
   * `delayMs` is the delay that the workflow sets.
   * @default undefined: a pending reward is an error
   */
  readonly rewardDeadline?: (delayMs: number | undefined) => number;
  /**
   * Returns the error for a rollout that never called its model. @default an error about missing
   * experiences
   */
  readonly bypassed?: () => WorkflowError | undefined;
}

/**
 * Converts the result of a workflow to finished rollouts, ordered by rollout number.
 * @throws WorkflowError if the result is neither experiences nor a score, if rollouts are missing or
 * not of this task, if a reward is missing, not finite, too large, or pending where it may not be,
 * or if ids, tokens or info of experiences are invalid
 */
export function finishRuns(result: unknown, options: FinishOptions): readonly FinishedRun[] {
  const { task, range, model, extracted = [] } = options;
  const recorded = [...extracted, ...model.extractExperiencesFromHistory()];
  const read = readResult(result, options);
  const experiences = read.experiences ?? scored(recorded, read);
  if (experiences.length === 0) throw options.bypassed?.() ?? noExperiences(task);
  const { rewardDeadline } = read;
  const complete = experiences.map((experience) => completed(experience, recorded, options));
  if (rewardDeadline === undefined) for (const one of complete) checkReward(one, options);
  const runs = Map.groupBy(complete, (experience) => experience.eid.run);
  const own = Array.from({ length: range.count }, (_, i) => range.firstRun + i);
  const missing = own.find((run) => !runs.has(run) && !options.failed?.has(run));
  const foreign = [...runs.keys()].find((run) => !own.includes(run));
  if (missing !== undefined || foreign !== undefined)
    throw invalid(
      task,
      missing === undefined
        ? `returned an experience of run ${foreign}, which is not one of its ${range.count} runs`
        : `returned no experience of run ${missing}`,
      'Set eid.run to runIdBase, runIdBase + 1, … when the workflow repeats runs itself.',
    );
  return [...runs]
    .toSorted(([a], [b]) => a - b)
    .map(([run, members]) => ({
      ...finishRun(run, members, read.metrics, options),
      rewardDeadline,
    }));
}

const noExperiences = (task: Task): WorkflowError =>
  invalid(
    task,
    'returned no experiences',
    'Return at least one, or a reward after calling the model at least once.',
  );

/** Copy of a workflow's result, which the workflow cannot change later. */
interface ReadResult {
  /**
   * Experiences that the workflow returned. @default undefined: the recorded calls, with the
   * reward, are used instead
   */
  readonly experiences?: readonly Experience[];
  readonly reward?: number;
  readonly rewardDeadline?: number | undefined;
  readonly metrics: Metrics;
  readonly info?: Experience['info'];
}

const resultForm = 'experiences, a number, or { reward, metrics, info }';

function readResult(result: unknown, options: FinishOptions): ReadResult {
  const returned = returnedBy(
    `Workflow "${options.task.workflow}"`,
    (message) => new WorkflowError(message, { code: 'WORKFLOW_RESULT' }),
  );
  if (Array.isArray(result)) {
    const list = returned.list(result, resultForm);
    return { experiences: list.map((one) => readExperience(one, returned)), metrics: {} };
  }
  if (typeof result === 'number' || typeof result === 'boolean')
    return { reward: returned.reward(result), metrics: {} };
  const names = ['reward', 'pending', 'deadlineMs', 'metrics', 'info'] as const;
  const fields = returned.fields(result, names, resultForm);
  const read = { metrics: returned.metrics(fields.metrics), info: returned.info(fields.info) };
  if (fields.pending === true)
    return { ...read, rewardDeadline: deadlineOf(fields.deadlineMs, options, returned) };
  if (fields.reward === undefined) throw returned.refuse(result, resultForm);
  return { ...read, reward: returned.reward(fields.reward, ' as reward') };
}

function deadlineOf(
  deadlineMs: unknown,
  { task, rewardDeadline }: FinishOptions,
  returned: Returned,
): number {
  if (!rewardDeadline || task.isEval)
    throw invalid(
      task,
      'returned a pending reward',
      'Only tasks of explore steps can wait for one: score evaluations, and runs of mode bench, at once.',
    );
  if (deadlineMs === undefined) return rewardDeadline(undefined);
  if (typeof deadlineMs !== 'number' || !Number.isFinite(deadlineMs) || deadlineMs < 0)
    throw returned.refuse(deadlineMs, 'milliseconds, 0 or more', ' as deadlineMs');
  return rewardDeadline(deadlineMs);
}

/** Returns the recorded calls of the rollout, each with the reward, metrics and info of the result. */
const scored = (
  recorded: readonly Experience[],
  { reward, metrics, info }: ReadResult,
): readonly Experience[] =>
  recorded.map((experience) =>
    withFields(experience, {
      reward,
      metrics: { ...experience.metrics, ...metrics },
      info: { ...experience.info, ...info },
    }),
  );

function checkReward({ reward, tokenRewards }: Experience, { task }: FinishOptions): void {
  if (reward === undefined && !task.isEval)
    throw invalid(
      task,
      'returned an experience without a reward',
      'Set its reward to a finite number.',
    );
  const unusable = [reward ?? 0, ...(tokenRewards ?? [])].find((value) => !isUsableReward(value));
  if (unusable !== undefined)
    throw invalid(task, `returned the reward ${unusable}`, `Return ${usableReward}.`);
}

function completed(
  experience: Experience,
  recorded: readonly Experience[],
  { task, range, info, model }: FinishOptions,
): Experience {
  const { eid } = experience;
  for (const part of ['task', 'suffix'] as const)
    if (String(eid[part]).includes('/'))
      throw invalid(
        task,
        `returned an experience with the eid.${part} "${eid[part]}"`,
        'Leave "/" out of it: it separates the parts of a uid.',
      );
  checkSteps(task, experience.info);
  checkTokens(task, experience, recorded, model);
  // A workflow that builds an experience from a response may omit the policy version, which is then
  // taken from the recorded call.
  const source =
    experience.policyVersion === unknownPolicyVersion
      ? recorded.find((record) => sameTokens(record, experience))
      : undefined;
  const complete = withFields(experience, {
    eid: {
      ...eid,
      batch: task.batchId,
      task: ownTask(eid.task, task),
      run: range.count === 1 ? range.firstRun : eid.run,
    },
    ...(source && {
      policyVersion: source.policyVersion,
      temperature: source.temperature,
      logprobs: source.logprobs,
    }),
    info: { ...experience.info, ...info, ...placeOf(task) },
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

/**
 * Maximum number of characters of a reference answer. Longer answers are truncated, because every
 * experience of the task has a copy.
 */
const longestTruth = 500;

/**
 * Returns info for experiences: the task set and the row of the task, and the truncated reference
 * answer.
 */
function placeOf(task: Task): Experience['info'] {
  const { taskset, row } = task.index;
  const truth = taskTruth(task)?.slice(0, longestTruth);
  return { taskset, row, ...(truth !== undefined && { truth }) };
}

/**
 * Returns the task id for an experience. If the workflow has set a task id to separate a group
 * within the task, the task's own id is prepended, because two tasks may use the same id for their
 * groups.
 */
const ownTask = (own: number | string, { taskId }: Task): number | string =>
  own === '' || String(own) === String(taskId) ? taskId : `${taskId}-${own}`;

/**
 * Checks token ids, because ids outside of the vocabulary would crash the engine. Accepts ids that
 * were sampled, because they may belong to the vocabulary's padding.
 */
function checkTokens(
  task: Task,
  { tokens }: Experience,
  recorded: readonly Experience[],
  { vocabulary }: AgentModel,
): void {
  if (!vocabulary) return;
  const unknown = tokens.find((id) => id >= vocabulary.size);
  if (unknown === undefined || recorded.some((call) => call.tokens.includes(unknown))) return;
  throw invalid(
    task,
    `returned an experience with the token id ${unknown}, and the model has ${vocabulary.size} tokens`,
    'Build experiences from the tokens that model.chat returned.',
  );
}

/**
 * Checks the info fields that algorithms use to compare steps, because a field of the wrong type
 * would count as missing.
 */
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
  { task, range, reasons }: FinishOptions,
): FinishedRun {
  // The sort is stable: experiences of one step keep the order in which the workflow returned them.
  const sorted = members
    .toSorted((a, b) => a.eid.step - b.eid.step)
    .map((step, index) =>
      withFields(step, { eid: { ...step.eid, suffix: step.eid.suffix || index.toString(36) } }),
    );
  checkUnique(sorted, task);
  const steps = reasons?.addTo(sorted, range.count === 1) ?? sorted;
  const reward = steps.at(-1)?.reward ?? Number.NaN;
  const own = meanMetrics(steps.map((step) => step.metrics));
  return {
    run,
    experiences: task.isEval ? [] : steps,
    ...(task.isEval && { answers: steps }),
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

/** Checks that ids are unique, because a store refuses a whole step if one id is repeated. */
function checkUnique(experiences: readonly Experience[], task: Task): void {
  const seen = new Set<string>();
  for (const { eid } of experiences) {
    const id = uid(eid);
    if (seen.has(id))
      throw invalid(
        task,
        `returned the experience ${id} twice`,
        'Return each once, or give them different eid.step or eid.suffix.',
      );
    seen.add(id);
  }
}

function invalid(task: Task, what: string, fix: string): WorkflowError {
  return new WorkflowError(`Workflow "${task.workflow}" ${what}. ${fix}`, {
    code: 'WORKFLOW_RESULT',
  });
}
