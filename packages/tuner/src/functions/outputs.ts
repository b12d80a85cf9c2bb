/** What workflow and judge functions return. Plain objects of the same fields do as well. */
import { WorkflowError, type Metrics } from '@trinity-rft/core';
import { z } from 'zod';
import { describeIssues } from '../config/fields.js';

const metrics = z.record(z.string(), z.number()).nullish();
const workflowSchema = z.strictObject({
  reward: z.number().nullish(),
  response: z.unknown().optional(),
  metrics,
});
const judgeSchema = z.strictObject({ reward: z.number(), metrics });

/** Of one run. */
export interface WorkflowOutput<Response = unknown> {
  /** Where there is no judge. Ignored where there is one. */
  readonly reward?: number | null | undefined;
  /** What the judge judges. */
  readonly response?: Response | undefined;
  /** Numbers for the curves. */
  readonly metrics?: Metrics | null | undefined;
}

export interface JudgeOutput {
  /** A finite number. */
  readonly reward: number;
  /** Numbers for the curves; they win over those of the workflow. */
  readonly metrics?: Metrics | null | undefined;
}

/**
 * A function returned something else than it must. `details.field` is the wrong field, empty when
 * the whole is wrong.
 */
export class InvalidOutputError extends WorkflowError {}

/** A function cannot be used as workflow or judge. */
export class InvalidFunctionError extends WorkflowError {}

/** @throws InvalidOutputError naming the wrong field */
export function WorkflowOutput<Response = undefined>(
  output: WorkflowOutput<Response>,
): WorkflowOutput<Response> {
  return checkWorkflowOutput('WorkflowOutput', output) as WorkflowOutput<Response>;
}

/** @throws InvalidOutputError naming the wrong field */
export function JudgeOutput(output: JudgeOutput): JudgeOutput {
  return checkJudgeOutput('JudgeOutput', output);
}

/** @throws InvalidOutputError naming the function and the wrong field */
export function checkWorkflowOutput(name: string, output: unknown): WorkflowOutput {
  return check(
    `Workflow function "${name}"`,
    '{ reward, response, metrics }',
    workflowSchema,
    output,
  );
}

/** @throws InvalidOutputError naming the function and the wrong field */
export function checkJudgeOutput(name: string, output: unknown): JudgeOutput {
  return check(`Judge function "${name}"`, '{ reward, metrics }', judgeSchema, output);
}

/** The reward of a run without a judge. @throws InvalidOutputError when there is none */
export function rewardOf(name: string, { reward }: WorkflowOutput): number {
  if (typeof reward === 'number') return reward;
  throw new InvalidOutputError(
    `Workflow function "${name}" returned no reward, and there is no judgeFunc to give one. Return { reward }, or pass a judgeFunc.`,
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
  const got = field === '' ? `returned ${shown(output)}` : `returned a wrong output`;
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
