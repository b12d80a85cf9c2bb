/** The functions that users write: workflows, judges, and adapters to their framework. */
import type { Logger, RawTask } from '@trinity-rft/core';
import type { AgentEndpoint, AgentModel } from '@trinity-rft/workflow';
import { InvalidFunctionError, type JudgeOutput, type WorkflowOutput } from './outputs.js';

type Awaitable<T> = T | Promise<T>;

/** Of one run. `Row` is a row of the data set, `Model` what the adapter makes. */
export interface WorkflowInput<Row = RawTask, Model = AgentModel> {
  /** The row as it was read. */
  readonly task: Row;
  /**
   * Its calls are recorded and trained on. Of this run alone: make agents that hold it here, not
   * outside.
   */
  readonly model: Model;
  /** By name; their calls are not trained on. */
  readonly auxiliaryModels: Readonly<Record<string, Model>>;
  readonly logger: Logger;
  /** Aborts when the run takes too long, or everything stops. */
  readonly signal: AbortSignal;
}

/** Runs the agent on one task. */
export type WorkflowType<Row = RawTask, Response = unknown, Model = AgentModel> = (
  input: WorkflowInput<Row, Model>,
) => Awaitable<WorkflowOutput<Response>>;

export interface JudgeInput<Row = RawTask, Response = unknown, Model = AgentModel> {
  /** The row as it was read. */
  readonly task: Row;
  /** What the workflow returned as its response. */
  readonly response: Response;
  /** By name. */
  readonly auxiliaryModels: Readonly<Record<string, Model>>;
  readonly logger: Logger;
}

/** Says how good a response is. */
export type JudgeType<Row = RawTask, Response = unknown, Model = AgentModel> = (
  input: JudgeInput<Row, Response, Model>,
) => Awaitable<JudgeOutput>;

/**
 * Makes the model object of a framework from the address of one run's model: `(endpoint) =>
 * aiSdkModel(endpoint, createOpenAI)`.
 */
export type ModelAdapter<Model> = (endpoint: AgentEndpoint) => Awaitable<Model>;

/**
 * @throws InvalidFunctionError when it is no function of one object. What it returns is checked
 * when it has run.
 */
export function checkWorkflowFunction(workflowFunc: unknown): void {
  checkFunction(
    'workflowFunc',
    'async ({ task, model, auxiliaryModels, logger, signal }) => ({ response })',
    workflowFunc,
  );
}

/**
 * @throws InvalidFunctionError when it is no function of one object. What it returns is checked
 * when it has run.
 */
export function checkJudgeFunction(judgeFunc: unknown): void {
  checkFunction(
    'judgeFunc',
    'async ({ task, response, auxiliaryModels, logger }) => ({ reward })',
    judgeFunc,
  );
}

/** Parameters have no names at run time: arity and, later, outputs are what can be checked. */
function checkFunction(what: string, shape: string, value: unknown): void {
  if (typeof value !== 'function')
    throw new InvalidFunctionError(
      `${what} is ${value === null ? 'null' : `of type ${typeof value}`}; expected a function: ${shape}.`,
      {
        code: 'FUNCTION_INVALID',
      },
    );
  const { name, length } = value as (...args: never[]) => unknown;
  if (length > 1)
    throw new InvalidFunctionError(
      `${what} "${name}" has ${length} parameters; expected one, an object whose fields it takes apart: ${shape}.`,
      { code: 'FUNCTION_INVALID' },
    );
  if (/^class\b/.test(Function.prototype.toString.call(value)))
    throw new InvalidFunctionError(`${what} "${name}" is a class; expected a function: ${shape}.`, {
      code: 'FUNCTION_INVALID',
    });
}

/** As messages call it. */
export const nameOf = (value: { readonly name: string }, standard: string): string =>
  value.name === '' ? standard : value.name;
