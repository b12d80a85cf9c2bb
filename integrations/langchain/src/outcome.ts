/**
 * Recognizes agent errors that are caused by the model's output. Such rollouts are training data,
 * not failures.
 */
import { causesOf } from '@trinity-rft/core/support';
import { agentOutcome, type AgentOutcome } from '@trinity-rft/workflow';

/**
 * Fault of the model that ended an agent's run:
 * - `max_turns`: the agent reached its limit of steps or calls without an answer
 * - `model_behavior`: a call or the final answer does not fit its schema
 */
export type ModelFault = 'max_turns' | 'model_behavior';

/**
 * Kinds of faults, keyed by the name of the error class. Classes are compared by name because
 * several copies of the framework may be installed.
 */
const faults: Readonly<Record<string, ModelFault>> = {
  GraphRecursionError: 'max_turns',
  ModelCallLimitMiddlewareError: 'max_turns',
  ToolCallLimitExceededError: 'max_turns',
  LengthFinishReasonError: 'model_behavior',
  MultipleStructuredOutputsError: 'model_behavior',
  OutputParserException: 'model_behavior',
  StructuredOutputParsingError: 'model_behavior',
  ToolInputParsingException: 'model_behavior',
  ToolInvocationError: 'model_behavior',
};

/** Matches the packages that parse structured output, as places in a stack. */
const parsers = /[\\/](?:@langchain[\\/](?:core|openai)|openai[\\/](?:lib|helpers))[\\/]/;
/** Matches stack frames of the functions with which these packages parse. */
const parsing = /^\s+at (?:JSON\.)?parse \(<anonymous>\)|[\\/]zod[\\/]/;

/**
 * Returns the result of an agent's run, or the fault of the model that ended the run. Rejects with
 * every error that is not a {@link ModelFault}.
 */
export const outcomeOf = <Result>(
  run: Promise<Result>,
): Promise<AgentOutcome<Result, ModelFault>> => agentOutcome(run, faultOf);

/**
 * Returns the kind of fault that an error or one of its causes means, or undefined. Causes are
 * included because middleware may wrap errors.
 */
function faultOf(error: Error): ModelFault | undefined {
  for (const cause of causesOf(error)) {
    if (isUnparsed(cause)) return 'model_behavior';
    const fault = faults[cause.constructor.name] ?? faults[cause.name];
    if (fault !== undefined) return fault;
  }
  return undefined;
}

/**
 * Returns true for an error of JSON or zod that the frameworks pass on as they parse structured
 * output. Such errors of the agent's own code are not included, nor are those of HTTP bodies.
 */
function isUnparsed({ name, stack = '' }: Error): boolean {
  if (!/^(?:SyntaxError|\$?ZodError)$/.test(name)) return false;
  const frames = stack.split('\n').filter((line) => /^\s+at /.test(line));
  return parsers.test(frames.find((frame) => !parsing.test(frame)) ?? '');
}
