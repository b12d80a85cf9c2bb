/**
 * Recognizes agent errors that are caused by the model's output. Such rollouts are training data,
 * not failures.
 */
import { agentOutcome, type AgentOutcome } from '@trinity-rft/workflow';

/**
 * Fault of the model that ended an agent's run. `model_behavior` means that the final answer does
 * not fit its schema. Other mistakes do not end the run, because the framework reports them to the
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

/** Ids of the errors that Mastra throws if the model gives no valid structured output. */
const faults: ReadonlySet<unknown> = new Set([
  'STRUCTURED_OUTPUT_SCHEMA_VALIDATION_FAILED',
  'STRUCTURED_OUTPUT_OBJECT_UNDEFINED',
  'STRUCTURED_OUTPUT_TRUNCATED',
]);

const faultOf = (error: Error): ModelFault | undefined =>
  faults.has((error as { readonly id?: unknown }).id) ? 'model_behavior' : undefined;
