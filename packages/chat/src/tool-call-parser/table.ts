/** Tool-call parsers by their names in the configuration (`tool_call_parser`), which are vLLM's. */
import { hermes } from './hermes.js';
import { llama3Json } from './llama3-json.js';
import { mistral } from './mistral.js';
import { pythonic } from './pythonic.js';
import { qwen3Coder } from './qwen3-coder.js';
import type { ToolCallParser } from './types.js';

/** To add a parser, write its file and a line here. */
export const toolCallParsers = {
  hermes,
  llama3_json: llama3Json,
  mistral,
  pythonic,
  qwen3_coder: qwen3Coder,
} satisfies Record<string, ToolCallParser>;
