/** Calls an agent's tools with the arguments that the model wrote. */
import { describeError, type ToolDefinition } from '@trinity-rft/core';
import { inToolSpan, noteFailure } from '@trinity-rft/monitor/internal';

export interface Tool {
  readonly definition: ToolDefinition;
  /**
   * Executes the tool with the parsed arguments. If it throws, the error message is the result that
   * the model gets.
   */
  call(args: Readonly<Record<string, unknown>>): string | Promise<string>;
}

export interface ToolOutcome {
  readonly text: string;
  readonly ok: boolean;
}

/**
 * Calls the tool `name` with the JSON arguments that a model wrote. If the tool is unknown, the
 * JSON is invalid or the tool throws, the error message is the result that the model gets.
 */
export const callTool = (
  tools: readonly Tool[],
  name: string,
  rawArguments: string,
): Promise<ToolOutcome> =>
  inToolSpan(
    { name, rawArguments },
    ({ text }) => text,
    () => call(tools, name, rawArguments),
  );

async function call(
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
    noteFailure(error instanceof Error ? error : new Error(String(error)));
    return { ok: false, text: `Error: ${describeError(error)}` };
  }
}
