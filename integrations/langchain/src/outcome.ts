/**
 * Runs that end in an error because of what the model wrote: data for training, not faults of the
 * machine.
 */
import type { AgentOutcome } from '@trinity-rft/workflow';

/**
 * - `max_turns`: the agent had not answered when its steps or calls ran out
 * - `model_behavior`: a call or a final answer that does not fit its schema
 */
export type ModelFault = 'max_turns' | 'model_behavior';

/**
 * By class name of the error: there may be several copies of the framework, and middleware wraps
 * what it throws.
 */
const faults: Readonly<Record<string, ModelFault>> = {
  GraphRecursionError: 'max_turns',
  ModelCallLimitMiddlewareError: 'max_turns',
  ToolCallLimitExceededError: 'max_turns',
  LengthFinishReasonError: 'model_behavior',
  MultipleStructuredOutputsError: 'model_behavior',
  OutputParserException: 'model_behavior',
  StructuredOutputParsingError: 'model_behavior',
  ToolInputParsingException: 'model_behavior',
  ToolInvocationError: 'model_behavior',
};
/**
 * What the `openai` package says of an answer that is not JSON where a schema was asked for; its
 * class is of no use.
 */
const notJson = 'Error reading response';

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
    const fault = faultOf(error);
    if (fault === undefined) throw error;
    return { fault, error: error as Error };
  }
}

/** Causes may go in circles. */
const mostCauses = 16;

function faultOf(error: unknown): ModelFault | undefined {
  let current = error;
  for (let depth = 0; depth < mostCauses && current instanceof Error; depth++) {
    if (current instanceof SyntaxError && current.message.startsWith(notJson))
      return 'model_behavior';
    const fault = faults[current.constructor.name] ?? faults[current.name];
    if (fault !== undefined) return fault;
    current = current.cause;
  }
  return undefined;
}
