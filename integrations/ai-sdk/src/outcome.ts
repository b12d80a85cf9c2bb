/**
 * Recognizes agent errors that are caused by the model's output. Such rollouts are training data,
 * not failures.
 */
import { agentOutcome, type AgentOutcome } from '@trinity-rft/workflow';

/**
 * Fault of the model that ended an agent's run. `model_behavior` means that the final answer does
 * not fit its schema, or that there is no answer because the last step called tools or was
 * truncated. Other mistakes do not end the run, because the framework reports them to the model.
 */
export type ModelFault = 'model_behavior';

/**
 * Returns the result of an agent's run, or the fault of the model that ended the run. Rejects with
 * every error that is not a {@link ModelFault}.
 */
export const outcomeOf = <Result>(
  run: Promise<Result>,
): Promise<AgentOutcome<Result, ModelFault>> => agentOutcome(run, faultOf);

/**
 * Returns the kind of fault that an error means, or undefined. Compares the error's name, not its
 * class, because several versions of the framework may be installed.
 */
const faultOf = ({ name, message }: Error): ModelFault | undefined =>
  name === 'AI_NoObjectGeneratedError' ||
  // With another message, a stream ended early, which is not the model's fault.
  (name === 'AI_NoOutputGeneratedError' && message === 'No output generated.')
    ? 'model_behavior'
    : undefined;
