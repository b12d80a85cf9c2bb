/** Tiny models of the families whose blocks differ, each with the features of its family. */
import { readFileSync } from 'node:fs';

import type { ModelConfig } from '../../src/model/config.js';
import { parseModelConfig } from '../../src/model/parse-config.js';

/** Folders of `fixtures`, made by tools/fixtures/transformers_models.py. */
export const architectures = [
  'mistral',
  'ministral3',
  'phi3',
  'phi3-longrope',
  'olmo2',
  'olmo3',
  'smollm3',
  'gemma2',
  'gemma3_text',
  'gemma4_text',
  'qwen3_moe',
  'lfm2',
  'qwen3_5_text',
  'granite',
  'granitemoehybrid',
  'qwen2-window-yarn',
  'llama-gelu-dynamic',
] as const;

export function architectureConfig(name: (typeof architectures)[number]): ModelConfig {
  const path = new URL(`../fixtures/${name}/config.json`, import.meta.url);
  return parseModelConfig(JSON.parse(readFileSync(path, 'utf8')), name);
}
