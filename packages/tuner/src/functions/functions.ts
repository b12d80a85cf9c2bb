/**
 * Types of the functions that users write: workflow functions, judge functions, and adapters for
 * agent frameworks.
 */
import type { Logger, RawTask } from '@trinity-rft/core';
import { assertKnownArgs } from '@trinity-rft/core/support';
import type { AgentEndpoint, AgentModel } from '@trinity-rft/workflow';
import { InvalidFunctionError, type JudgeOutput, type WorkflowOutput } from './outputs.js';

type Awaitable<T> = T | Promise<T>;

/**
 * Input of a workflow function for one rollout. `Row` is the type of the data set's rows, and
 * `Model` is the type that the adapter returns.
 */
export interface WorkflowInput<Row = RawTask, Model = AgentModel> {
  /** Row of the data set, with its original keys. */
  readonly task: Row;
  /**
   * The model of this rollout. Create the agents that use the model inside the function, once per
   * rollout.
   */
  readonly model: Model;
  /** Models that are not trained, keyed by name. */
  readonly auxiliaryModels: Readonly<Record<string, Model>>;
  readonly logger: Logger;
  /** Signal that aborts when the rollout exceeds its time limit, or training stops. */
  readonly signal: AbortSignal;
}

/** Function that runs the agent on one task. */
export type WorkflowType<Row = RawTask, Response = unknown, Model = AgentModel> = (
  input: WorkflowInput<Row, Model>,
) => Awaitable<WorkflowOutput<Response>>;

export interface JudgeInput<Row = RawTask, Response = unknown, Model = AgentModel> {
  /** Row of the data set, with its original keys. */
  readonly task: Row;
  /** Response that the workflow function returned. */
  readonly response: Response;
  /** Models that are not trained, keyed by name. */
  readonly auxiliaryModels: Readonly<Record<string, Model>>;
  readonly logger: Logger;
  /**
   * Signal that aborts when training, the model comparison or the prompt search stops. It also
   * aborts on a timeout: in training when the rollout exceeds its time limit, otherwise when the
   * judge takes longer than an hour.
   */
  readonly signal: AbortSignal;
}

/** Function that scores a response. */
export type JudgeType<Row = RawTask, Response = unknown, Model = AgentModel> = (
  input: JudgeInput<Row, Response, Model>,
) => Awaitable<JudgeOutput>;

/**
 * Function that creates a framework's model object from an endpoint, such as `(endpoint) =>
 * aiSdkModel(endpoint, createOpenAI)`.
 */
export type ModelAdapter<Model> = (endpoint: AgentEndpoint) => Awaitable<Model>;

/**
 * Checks that a value can be a workflow function. Its result is checked when it is called.
 * @throws InvalidFunctionError if the value is not a function with at most one parameter
 */
export function checkWorkflowFunction(workflowFunc: unknown): void {
  checkFunction(
    'workflowFunc',
    'async ({ task, model, auxiliaryModels, logger, signal }) => ({ response })',
    workflowFunc,
  );
}

/**
 * Checks that a value can be a judge function. Its result is checked when it is called.
 * @throws InvalidFunctionError if the value is not a function with at most one parameter
 */
export function checkJudgeFunction(judgeFunc: unknown): void {
  checkFunction(
    'judgeFunc',
    'async ({ task, response, auxiliaryModels, logger, signal }) => ({ reward })',
    judgeFunc,
  );
}

/**
 * Checks that a value is a function and has at most one parameter. The parameter's name cannot be
 * checked at run time.
 */
function checkFunction(what: string, shape: string, value: unknown): void {
  if (typeof value !== 'function')
    throw new InvalidFunctionError(
      `${what} is ${value === null ? 'null' : `of type ${typeof value}`}; expected a function: ` +
        `${shape}.`,
      { code: 'FUNCTION_INVALID' },
    );
  const { name, length } = value as (...args: never[]) => unknown;
  if (length > 1)
    throw new InvalidFunctionError(
      `${what} "${name}" has ${length} parameters; expected one, an object: ${shape}.`,
      { code: 'FUNCTION_INVALID' },
    );
  if (/^class\b/.test(Function.prototype.toString.call(value)))
    throw new InvalidFunctionError(`${what} "${name}" is a class; expected a function: ${shape}.`, {
      code: 'FUNCTION_INVALID',
    });
}

/** Returns the name of a function for messages, or `fallback` if the function has no name. */
export const nameOf = (value: { readonly name: string }, fallback: string): string =>
  value.name === '' ? fallback : value.name;

/**
 * Checks the names of options.
 * @param own names that the function takes besides those that all functions take, with spaces between
 * @throws ConfigError for an unknown name
 */
export const checkOptions = (owner: string, options: object, own: string): void =>
  assertKnownArgs(owner, options, [
    ...['workflowFunc', 'judgeFunc', 'cwd', 'clock', 'signal'],
    ...own.split(' '),
  ]);
