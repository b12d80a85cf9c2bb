/**
 * Recognizes agent errors that are caused by the model's output. Such rollouts are training data,
 * not failures.
 */
import { agentOutcome, type AgentOutcome } from '@trinity-rft/workflow';

/**
 * Fault of the model that ended an agent's run:
 * - `max_turns`: the agent reached its limit of turns without an answer
 * - `model_behavior`: the model called an unknown tool or handoff, or its final answer does not fit
 * `outputType`
 * - `refusal`: the model refused to answer
 */
export type ModelFault = 'max_turns' | 'model_behavior' | 'refusal';

/**
 * Kinds of faults, keyed by the name of the error class. Classes are compared by name because
 * several copies of the framework may be installed.
 */
const faults: Readonly<Record<string, ModelFault>> = {
  MaxTurnsExceededError: 'max_turns',
  ModelBehaviorError: 'model_behavior',
  ModelRefusalError: 'refusal',
};

/**
 * Returns the result of an agent's run, or the fault of the model that ended the run. Rejects with
 * every error that is not a {@link ModelFault}. For a stream, pass a promise that reads the stream,
 * because its errors occur only while it is read: `outcomeOf(readAll(runner))`.
 */
export const outcomeOf = <Result>(
  run: Promise<Result>,
): Promise<AgentOutcome<Result, ModelFault>> => agentOutcome(run, faultOf);

/** Returns the kind of fault that the class of an error, or one that it extends, means. */
function faultOf(error: object): ModelFault | undefined {
  const parent: unknown = Object.getPrototypeOf(error);
  if (typeof parent !== 'object' || parent === null) return undefined;
  return faults[parent.constructor.name] ?? faultOf(parent);
}
