/** Converts a response of the model to the format that graders read. */
import type { ToolCall } from '@trinity-rft/core';
import { tryJson } from '@trinity-rft/core/support';

/**
 * A response of the model as graders see it: the namespace `sample` of templates, and the argument
 * `sample` of Python graders.
 */
export interface GraderSample {
  readonly output_text: string;
  /** Parsed JSON of `output_text`; undefined if the text is not JSON. */
  readonly output_json?: unknown;
  readonly output_tools: readonly ToolCall[];
  /** The response as the choices of a chat completion. @default no choices */
  readonly choices?: readonly unknown[];
}

/**
 * Creates the sample for a response. `output_json` is set if the text is JSON.
 * @param finishReason reason why the response ended: `stop`, `length` or `tool_calls`
 */
export function graderSample(
  text: string,
  toolCalls: readonly ToolCall[] = [],
  finishReason: string = toolCalls.length > 0 ? 'tool_calls' : 'stop',
): GraderSample {
  const message = {
    role: 'assistant',
    content: text,
    ...(toolCalls.length > 0 && { tool_calls: toolCalls }),
  };
  return {
    output_text: text,
    output_json: tryJson(text),
    output_tools: toolCalls,
    choices: [{ index: 0, finish_reason: finishReason, message }],
  };
}
