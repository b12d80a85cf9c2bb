/** Runs that end in an error because of what the model wrote: data for training, not faults of the machine. */

/**
 * - `max_turns`: the agent had not answered when its steps or calls ran out
 * - `model_behavior`: a call or a final answer that does not fit its schema
 */
export type ModelFault = 'max_turns' | 'model_behavior';

/** What came of an agent's run. */
export type AgentOutcome<Result> =
  | { readonly fault?: undefined; readonly result: Result }
  | { readonly fault: ModelFault; readonly error: Error; readonly result?: undefined };

/** By name of the error: middleware and several copies of the framework hand on names, not classes. */
const faults: Readonly<Record<string, ModelFault>> = {
  GraphRecursionError: 'max_turns',
  ModelCallLimitMiddlewareError: 'max_turns',
  ToolCallLimitExceededError: 'max_turns',
  MultipleStructuredOutputsError: 'model_behavior',
  StructuredOutputParsingError: 'model_behavior',
  ToolInputParsingException: 'model_behavior',
  ToolInvocationError: 'model_behavior',
  OutputParserException: 'model_behavior',
};

/**
 * Settles an agent's run: give a fault the reward that it deserves, and its turns are trained on. A workflow that throws instead is
 * tried again, and its turns are lost. Rejects with every other error.
 */
export async function outcomeOf<Result>(run: Promise<Result>): Promise<AgentOutcome<Result>> {
  try {
    return { result: await run };
  } catch (error) {
    const fault = error instanceof Error ? (faults[error.name] ?? faults[error.constructor.name]) : undefined;
    if (fault === undefined) throw error;
    return { fault, error: error as Error };
  }
}
