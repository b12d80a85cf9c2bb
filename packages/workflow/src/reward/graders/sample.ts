/** An answer of the model as graders see it. */
import type { ToolCall } from '@trinity-rft/core';

/** The namespace `sample` of templates, and the argument `sample` of Python graders. */
export interface GraderSample {
  readonly output_text: string;
  /** The text as JSON. @default the text is no JSON */
  readonly output_json?: unknown;
  readonly output_tools: readonly ToolCall[];
  /** Choices of a chat completion. @default none */
  readonly choices?: readonly unknown[];
}

/** The sample of an answer: `output_json` is there if the text is JSON. */
export function graderSample(text: string, toolCalls: readonly ToolCall[] = []): GraderSample {
  const calls = toolCalls.length > 0;
  const message = {
    role: 'assistant',
    content: text,
    ...(calls && { tool_calls: toolCalls }),
  };
  return {
    output_text: text,
    output_json: parsedJson(text),
    output_tools: toolCalls,
    choices: [{ index: 0, finish_reason: calls ? 'tool_calls' : 'stop', message }],
  };
}

/** Undefined for text that is no JSON. */
export function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
