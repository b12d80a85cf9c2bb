/**
 * Results of workflow and judge functions, and their validation. Functions may also return plain
 * objects.
 */
import { WorkflowError, type Metrics } from '@trinity-rft/core';
import { z } from 'zod';
import { describeIssues } from '../config/fields.js';

/** Schema of a number or boolean. `true` becomes 1, and `false` becomes 0. */
const number = z.union([z.number(), z.boolean().transform(Number)]);
const metrics = z.record(z.string(), number).nullish();
const workflowSchema = z.strictObject({
  reward: number.nullish(),
  response: z.unknown().optional(),
  metrics,
});
const judgeSchema = z.strictObject({ reward: number, feedback: z.string().nullish(), metrics });

export interface WorkflowOutput<Response = unknown> {
  /** Reward of the rollout. Required if there is no judge, otherwise ignored. */
  readonly reward?: number | null;
  /** Response of the agent, which the judge receives. */
  readonly response?: Response;
  /** Metrics of the rollout. */
  readonly metrics?: Metrics | null;
}

export interface JudgeOutput {
  /** Reward of the rollout, a finite number. */
  readonly reward: number;
  /**
   * Explanation of the reward in prose. `tunePrompt` learns from it, and training runs store it.
   */
  readonly feedback?: string | null;
  /** Metrics of the rollout. They override metrics of the same name from the workflow function. */
  readonly metrics?: Metrics | null;
}

/**
 * Thrown if the result of a user's function is invalid. `details.field` is the name of the invalid
 * field, or empty.
 */
export class InvalidOutputError extends WorkflowError {}

/** Thrown if a value is not a workflow or judge function. */
export class InvalidFunctionError extends WorkflowError {}

/**
 * Validates the result of a workflow function.
 * @throws InvalidOutputError naming the invalid field
 */
export function WorkflowOutput<Response = undefined>(
  output: WorkflowOutput<Response>,
): WorkflowOutput<Response> {
  return checkWorkflowOutput('WorkflowOutput', output) as WorkflowOutput<Response>;
}

/**
 * Validates the result of a judge function.
 * @throws InvalidOutputError naming the invalid field
 */
export function JudgeOutput(output: JudgeOutput): JudgeOutput {
  return checkJudgeOutput('JudgeOutput', output);
}

/**
 * Validates the result of a workflow function.
 * @throws InvalidOutputError naming the function and the invalid field
 */
export function checkWorkflowOutput(name: string, output: unknown): WorkflowOutput {
  return check(
    `Workflow function "${name}"`,
    '{ reward, response, metrics }',
    workflowSchema,
    output,
  );
}

/**
 * Validates the result of a judge function.
 * @throws InvalidOutputError naming the function and the invalid field
 */
export function checkJudgeOutput(name: string, output: unknown): JudgeOutput {
  return check(`Judge function "${name}"`, '{ reward, feedback, metrics }', judgeSchema, output);
}

/**
 * Returns the reward of a workflow function that has no judge.
 * @throws InvalidOutputError if there is no reward
 */
export function rewardOf(name: string, { reward }: WorkflowOutput): number {
  if (typeof reward === 'number') return reward;
  throw new InvalidOutputError(
    `Workflow function "${name}" returned no reward, and there is no judgeFunc. ` +
      'Return { reward }, or pass a judgeFunc.',
    { code: 'REWARD_MISSING', details: { function: name, field: 'reward' } },
  );
}

function check<Output>(
  what: string,
  shape: string,
  schema: z.ZodType<Output>,
  output: unknown,
): Output {
  const checked = schema.safeParse(output);
  if (checked.success) return checked.data;
  const field = checked.error.issues[0]?.path.join('.') ?? '';
  const got = field === '' ? `returned ${shown(output)}` : 'returned an invalid output';
  throw new InvalidOutputError(
    `${what} ${got}: ${describeIssues(checked.error)}. Expected ${shape}.`,
    {
      code: 'OUTPUT_INVALID',
      details: { field },
      cause: checked.error,
    },
  );
}

const shown = (value: unknown): string =>
  value === undefined ? 'nothing' : value === null ? 'null' : `a value of type ${typeof value}`;
