/**
 * Runs that end in an error because of what the model wrote: data for training, not faults of the
 * machine.
 */
import type { AgentOutcome } from '@trinity-rft/workflow';

/**
 * `model_behavior`: an answer that does not fit its schema. What else a model does wrong, the
 * framework tells the model.
 */
export type ModelFault = 'model_behavior';

/** By name: several versions of the framework may be installed. */
const isFault = ({ name }: Error): boolean => name === 'AI_NoObjectGeneratedError';

/**
 * Settles an agent's run: give a fault the reward that it deserves, and its turns are trained on. A
 * workflow that throws instead is tried again, and its turns are lost. Rejects with every other
 * error.
 */
export async function outcomeOf<Result>(
  run: Promise<Result>,
): Promise<AgentOutcome<Result, ModelFault>> {
  try {
    return { result: await run };
  } catch (error) {
    if (!(error instanceof Error) || !isFault(error)) throw error;
    return { fault: 'model_behavior', error };
  }
}
