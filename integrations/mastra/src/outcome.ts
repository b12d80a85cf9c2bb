/** Agent errors that are caused by the model's output. They are training data, not failures. */
import { agentOutcome, type AgentOutcome } from '@trinity-rft/workflow';

/**
 * Kind of fault. `model_behavior`: a final answer that does not fit its schema. The framework
 * reports other mistakes to the model.
 */
export type ModelFault = 'model_behavior';

/**
 * Returns the result of an agent's run, or the fault of the model that ended the run. Rejects with
 * every error that is not a {@link ModelFault}.
 */
export const outcomeOf = <Result>(
  run: Promise<Result>,
): Promise<AgentOutcome<Result, ModelFault>> => agentOutcome(run, faultOf);

/** Ids of Mastra's errors about `structuredOutput`. */
const faults: ReadonlySet<unknown> = new Set([
  'STRUCTURED_OUTPUT_SCHEMA_VALIDATION_FAILED',
  'STRUCTURED_OUTPUT_OBJECT_UNDEFINED',
  'STRUCTURED_OUTPUT_TRUNCATED',
]);

const faultOf = (error: Error): ModelFault | undefined =>
  faults.has((error as { readonly id?: unknown }).id) ? 'model_behavior' : undefined;
