import { deepseekR1, gemma4, mistral, qwen3 } from './think-block.js';
import type { ReasoningParser } from './types.js';

/** Reasoning parsers by their name in the configuration (`reasoning_parser`). */
export const reasoningParsers = {
  deepseek_r1: deepseekR1,
  gemma4,
  mistral,
  qwen3,
} satisfies Record<string, ReasoningParser>;
