/** Agent errors that are caused by the model's output. They are training data, not failures. */
import { agentOutcome, type AgentOutcome } from '@trinity-rft/workflow';

/**
 * Kind of fault. `model_behavior`: a final answer that does not fit its schema, or none at all,
 * because the last step called tools or was truncated. The framework reports other mistakes to the
 * model.
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
 * Identifies a fault by the error's name, because several versions of the framework may be
 * installed.
 */
const faultOf = ({ name, message }: Error): ModelFault | undefined =>
  name === 'AI_NoObjectGeneratedError' ||
  // With another message, a stream ended early, which is not the model's fault.
  (name === 'AI_NoOutputGeneratedError' && message === 'No output generated.')
    ? 'model_behavior'
    : undefined;
