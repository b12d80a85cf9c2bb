import { functionGemma, gemma4 } from './gemma.js';
import { hermes } from './hermes.js';
import { lfm2 } from './lfm2.js';
import { llama3Json } from './llama3-json.js';
import { mistral } from './mistral.js';
import { phi4MiniJson } from './phi4-mini.js';
import { pythonic } from './pythonic.js';
import { qwen3Coder } from './qwen3-coder.js';
import type { ToolCallParser } from './types.js';

/**
 * Tool-call parsers by their name in the configuration (`tool_call_parser`), which is vLLM's name.
 */
export const toolCallParsers = {
  functiongemma: functionGemma,
  gemma4,
  hermes,
  lfm2,
  llama3_json: llama3Json,
  mistral,
  phi4_mini_json: phi4MiniJson,
  pythonic,
  qwen3_coder: qwen3Coder,
} satisfies Record<string, ToolCallParser>;
