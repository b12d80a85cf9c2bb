/** Types of the functions that users write: workflows, judges, and adapters to their framework. */
import type { Logger, RawTask } from '@trinity-rft/core';
import type { AgentEndpoint, AgentModel } from '@trinity-rft/workflow';
import { InvalidFunctionError, type JudgeOutput, type WorkflowOutput } from './outputs.js';

type Awaitable<T> = T | Promise<T>;

/**
 * Input of a workflow function for one rollout. `Row` is the type of the data set's rows, `Model`
 * that of the adapter's results.
 */
export interface WorkflowInput<Row = RawTask, Model = AgentModel> {
  /** Row of the data set, unchanged. */
  readonly task: Row;
  /**
   * The model of this rollout. Create the agents that use the model inside the function, once per
   * rollout.
   */
  readonly model: Model;
  /** Models that are not trained, keyed by name. */
  readonly auxiliaryModels: Readonly<Record<string, Model>>;
  readonly logger: Logger;
  /** Signal that aborts when the rollout exceeds its deadline, or training stops. */
  readonly signal: AbortSignal;
}

/** Runs the agent on one task. */
export type WorkflowType<Row = RawTask, Response = unknown, Model = AgentModel> = (
  input: WorkflowInput<Row, Model>,
) => Awaitable<WorkflowOutput<Response>>;

export interface JudgeInput<Row = RawTask, Response = unknown, Model = AgentModel> {
  /** Row of the data set, unchanged. */
  readonly task: Row;
  /** The response of the workflow function. */
  readonly response: Response;
  /** Models that are not trained, keyed by name. */
  readonly auxiliaryModels: Readonly<Record<string, Model>>;
  readonly logger: Logger;
  /**
   * Signal that aborts when training, a model comparison or a prompt search stops. Also aborts when
   * the rollout exceeds its deadline in training, or outside training when the judge takes longer
   * than an hour.
   */
  readonly signal: AbortSignal;
}

/** Scores a response. */
export type JudgeType<Row = RawTask, Response = unknown, Model = AgentModel> = (
  input: JudgeInput<Row, Response, Model>,
) => Awaitable<JudgeOutput>;

/** Creates a framework's model object: `(endpoint) => aiSdkModel(endpoint, createOpenAI)`. */
export type ModelAdapter<Model> = (endpoint: AgentEndpoint) => Awaitable<Model>;

/**
 * Checks a workflow function, but not its result.
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
 * Checks a judge function, but not its result.
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
 * Checks the type and the number of parameters only, because parameter names do not exist at run
 * time.
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

/** Returns the name of a function for messages. */
export const nameOf = (value: { readonly name: string }, fallback: string): string =>
  value.name === '' ? fallback : value.name;
