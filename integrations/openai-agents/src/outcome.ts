/**
 * Recognizes agent errors that are caused by the model's output. Such rollouts are training data,
 * not failures.
 */
import { MaxTurnsExceededError, ModelBehaviorError, ModelRefusalError } from '@openai/agents';
import { agentOutcome, type AgentOutcome } from '@trinity-rft/workflow';

/**
 * Fault of the model that ended an agent's run:
 * - `max_turns`: the agent reached its limit of turns without an answer
 * - `model_behavior`: the model called an unknown tool or handoff, or its final answer does not fit
 * `outputType`
 * - `refusal`: the model refused to answer
 */
export type ModelFault = 'max_turns' | 'model_behavior' | 'refusal';

const faults: readonly (readonly [ModelFault, new (...args: never[]) => Error])[] = [
  ['max_turns', MaxTurnsExceededError],
  ['model_behavior', ModelBehaviorError],
  ['refusal', ModelRefusalError],
];

/**
 * Returns the result of an agent's run, or the fault of the model that ended the run. Rejects with
 * every error that is not a {@link ModelFault}. For a stream, pass a promise that reads the stream,
 * because its errors occur only while it is read: `outcomeOf(readAll(runner))`.
 */
export const outcomeOf = <Result>(
  run: Promise<Result>,
): Promise<AgentOutcome<Result, ModelFault>> => agentOutcome(run, faultOf);

const faultOf = (error: Error): ModelFault | undefined =>
  faults.find(([, Class]) => error instanceof Class)?.[0];
