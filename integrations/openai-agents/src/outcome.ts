/** Agent errors that are caused by the model's output. They are training data, not failures. */
import { MaxTurnsExceededError, ModelBehaviorError, ModelRefusalError } from '@openai/agents';
import { agentOutcome, type AgentOutcome } from '@trinity-rft/workflow';

/**
 * Kind of fault:
 * - `max_turns`: the agent reached its limit of turns without an answer
 * - `model_behavior`: an unknown tool or handoff, or a final answer that does not fit `outputType`
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
 * every error that is not a {@link ModelFault}. A stream reports errors only while it is read, so
 * pass a promise that reads it: `outcomeOf(readAll(runner))`.
 */
export const outcomeOf = <Result>(
  run: Promise<Result>,
): Promise<AgentOutcome<Result, ModelFault>> => agentOutcome(run, faultOf);

const faultOf = (error: Error): ModelFault | undefined =>
  faults.find(([, Class]) => error instanceof Class)?.[0];
