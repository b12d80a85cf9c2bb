/** Tools. A failed tool call becomes a result that the model reads. */
import { newId, type ToolCallBlock, type ToolResultBlock } from './message.ts';
import type { ToolSchema } from './model.ts';

/** JSON Schema of an object; the framework also accepts zod schemas. */
export interface ToolInputSchema {
  type: 'object';
  properties?: Record<string, object>;
  required?: string[];
  [key: string]: unknown;
}

export interface Tool {
  name: string;
  description: string;
  inputSchema: ToolInputSchema;
  /** Runs the tool. `never` lets the author of the schema choose the type of the input. */
  call: (input: never) => string | Promise<string>;
}

/** Toolkit without the skill tool, which the framework adds unless `builtInSkillTool` is false. */
export class Toolkit {
  readonly tools: readonly Tool[];

  constructor({ tools = [] }: { tools?: Tool[]; builtInSkillTool?: false } = {}) {
    this.tools = tools;
  }

  getJSONSchemas(): ToolSchema[] {
    return this.tools.map(({ name, description, inputSchema: parameters }) => ({
      type: 'function',
      function: { name, description, parameters },
    }));
  }

  async callToolFunction({ id, name, input }: ToolCallBlock): Promise<ToolResultBlock> {
    const result = (text: string, state: 'success' | 'error'): ToolResultBlock => ({
      type: 'tool_result',
      id,
      name,
      output: [{ type: 'text', id: newId(), text }],
      state,
    });
    const tool = this.tools.find((each) => each.name === name);
    if (!tool) return result(`FunctionNotFoundError: there is no ${name}`, 'error');
    const { value, problem } = readInput(input, tool.inputSchema);
    if (problem !== undefined) return result(`InvalidArgumentError: ${problem}`, 'error');
    return result(await tool.call(value as never), 'success');
  }
}

/** Parses the input. Checks only that required keys are present and have the declared type. */
function readInput(
  input: string,
  { properties = {}, required = [] }: ToolInputSchema,
): { value?: unknown; problem?: string } {
  try {
    const value = JSON.parse(input) as Record<string, unknown>;
    const wrong = required.find(
      (key) => typeof value[key] !== (properties[key] as { type?: string } | undefined)?.type,
    );
    return wrong === undefined ? { value } : { problem: `${wrong} is missing or of another type` };
  } catch (error) {
    return { problem: String(error) };
  }
}
