/**
 * Stand-in for `@agentscope-ai/agentscope/tool`: whatever goes wrong with a call is a result that
 * the model reads.
 */
import { describeError } from '@trinity-rft/core';
import { newId, type ToolCallBlock, type ToolResultBlock } from './message.js';
import type { ToolSchema } from './model.js';

/** A JSON Schema of an object; the framework also takes one of zod. */
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
  /** Typed by whoever wrote the schema. */
  call: (input: never) => string | Promise<string>;
}

/** `builtInSkillTool` is a tool that the framework adds unless it is false; there is none here. */
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

/** Checks no more of a schema than that required keys are there and of their type. */
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
    return { problem: describeError(error) };
  }
}
