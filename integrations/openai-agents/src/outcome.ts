/**
 * Runs that end in an error because of what the model wrote: data for training, not faults of the
 * machine.
 */
import { MaxTurnsExceededError, ModelBehaviorError, ModelRefusalError } from '@openai/agents';
import type { AgentOutcome } from '@trinity-rft/workflow';

/**
 * - `max_turns`: the agent had not answered when its turns ran out
 * - `model_behavior`: an unknown tool or hand-off, or a final answer that does not fit `outputType`
 * - `refusal`: the model refused to answer
 */
export type ModelFault = 'max_turns' | 'model_behavior' | 'refusal';

const faults: readonly (readonly [ModelFault, new (...args: never[]) => Error])[] = [
  ['max_turns', MaxTurnsExceededError],
  ['model_behavior', ModelBehaviorError],
  ['refusal', ModelRefusalError],
];

/**
 * Settles an agent's run: give a fault the reward that it deserves, and its turns are trained on. A
 * workflow that throws instead is tried again, and its turns are lost. Rejects with every other
 * error; an endless stream of `run(..., { stream: true })` must have been read, so pass a promise
 * of the reading: `outcomeOf(readAll(runner))`.
 */
export async function outcomeOf<Result>(
  run: Promise<Result>,
): Promise<AgentOutcome<Result, ModelFault>> {
  try {
    return { result: await run };
  } catch (error) {
    const known = faults.find(([, Class]) => error instanceof Class);
    if (known) return { fault: known[0], error: error as Error };
    throw error;
  }
}
