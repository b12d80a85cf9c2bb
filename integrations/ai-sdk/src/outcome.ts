/** Errors of an agent that the model's output caused: training data, not failures. */
import { agentOutcome, type AgentOutcome } from '@trinity-rft/workflow';

/**
 * Kind of fault. `model_behavior`: an answer that does not fit its schema. The framework reports other mistakes to the
 * model.
 */
export type ModelFault = 'model_behavior';

/** Settles a run of an agent. Rejects with every error that is not a {@link ModelFault}. */
export const outcomeOf = <Result>(
  run: Promise<Result>,
): Promise<AgentOutcome<Result, ModelFault>> => agentOutcome(run, faultOf);

/** Kind of fault by the error's name, because several versions of the framework may be installed. */
const faultOf = ({ name }: Error): ModelFault | undefined =>
  name === 'AI_NoObjectGeneratedError' ? 'model_behavior' : undefined;
