/** A tool an agent may call, and what calling it with a model's raw arguments gives. */
import { describeError, type ToolDefinition } from '@trinity-rft/core';

export interface Tool {
  readonly definition: ToolDefinition;
  /**
   * Gets the parsed arguments; what it throws becomes an answer to the model, not a failure of the
   * run.
   */
  call(args: Readonly<Record<string, unknown>>): string | Promise<string>;
}

export interface ToolOutcome {
  readonly text: string;
  readonly ok: boolean;
}

/**
 * Calls `name` with the raw argument string a model wrote. Unknown tools, bad JSON and thrown
 * errors are told to the model.
 */
export async function callTool(
  tools: readonly Tool[],
  name: string,
  rawArguments: string,
): Promise<ToolOutcome> {
  const tool = tools.find((candidate) => candidate.definition.function.name === name);
  if (!tool) return { ok: false, text: `Error: there is no tool named "${name}".` };
  try {
    const args: unknown = JSON.parse(rawArguments);
    if (typeof args !== 'object' || args === null || Array.isArray(args))
      return { ok: false, text: 'Error: the arguments must be a JSON object.' };
    return { ok: true, text: await tool.call(args as Record<string, unknown>) };
  } catch (error) {
    return { ok: false, text: `Error: ${describeError(error)}` };
  }
}
