/** A folder with a model, data and a template, and configurations whose parts can be replaced. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';
import type { EngineCapabilities } from '@trinity-rft/core/engine';
import {
  parseConfig,
  problemsOf,
  type ConfigProblem,
  type LoadedConfig,
  type ParseConfigOptions,
  type StageConfig,
} from '../src/index.js';

const everything: EngineCapabilities = {
  entropyGradient: 'exact',
  entropy: true,
  anyTemperature: true,
  samplingControls: true,
  necs: true,
  valueHead: true,
  fullParameter: true,
  lora: true,
  quantization: true,
  referenceModel: true,
};

/** An engine with all capabilities, under the name of the embedded engine. */
export const engines = { onnx: { name: 'onnx', capabilities: everything } };

export const modelShape = {
  model_type: 'qwen3',
  vocab_size: 100,
  hidden_size: 64,
  intermediate_size: 128,
  num_hidden_layers: 2,
  num_attention_heads: 4,
  num_key_value_heads: 2,
  head_dim: 16,
  tie_word_embeddings: true,
  max_position_embeddings: 512,
};

/** Creates a folder that is removed after the tests of the file. */
export function createWorkspace(): string {
  const root = mkdtempSync(join(tmpdir(), 'trinity-config-'));
  afterAll(() => rmSync(root, { recursive: true, force: true }));
  const write = (path: string, content: string): void => writeFileSync(join(root, path), content);
  for (const folder of [
    'tiny',
    'no-config',
    'bad-json',
    'bad-shape',
    'sees',
    'sees-and-reads',
    'data',
    'adapter',
  ])
    mkdirSync(join(root, folder));
  write('tiny/config.json', JSON.stringify(modelShape));
  write('adapter/adapter_config.json', JSON.stringify({ r: 8, lora_alpha: 16 }));
  write('bad-json/config.json', '{"model_type": ');
  write('bad-shape/config.json', JSON.stringify({ ...modelShape, hidden_size: 'wide' }));
  write('sees/config.json', JSON.stringify({ model_type: 'qwen2_vl', vision_config: {} }));
  write(
    'sees-and-reads/config.json',
    JSON.stringify({ model_type: 'gemma3', vision_config: {}, text_config: modelShape }),
  );
  write('tasks.jsonl', '{"prompt": "1+1=", "response": "2"}\n');
  write('template.jinja', '{{ messages[0].content }}');
  return root;
}

/** The sections of a small valid file. A test can replace some of these sections. */
export const parts = {
  top: '',
  algorithm: 'algorithm:\n  algorithm_type: grpo',
  model: 'model:\n  model_path: ./tiny',
  buffer:
    'buffer:\n  explorer_input:\n    taskset:\n      path: ./tasks.jsonl\n      default_workflow_type: math_workflow',
  rest: '',
};

export function yaml(replaced: Partial<typeof parts> = {}): string {
  return Object.values({ ...parts, ...replaced })
    .filter((part) => part !== '')
    .map((part) => `${part}\n`)
    .join('');
}

export function parse(
  cwd: string,
  text: string,
  options: Partial<ParseConfigOptions> = {},
): LoadedConfig {
  return parseConfig(text, { file: 'run.yaml', cwd, env: {}, engines, ...options });
}

/** Returns the only stage of a valid file. */
export function stageOf(
  cwd: string,
  text: string,
  options: Partial<ParseConfigOptions> = {},
): StageConfig {
  return parse(cwd, text, options).config.stages[0];
}

/** Returns the problems of an invalid file. */
export function problems(
  cwd: string,
  text: string,
  options: Partial<ParseConfigOptions> = {},
): readonly ConfigProblem[] {
  try {
    parse(cwd, text, options);
  } catch (error) {
    const found = problemsOf(error);
    if (found.length > 0) return found;
    throw error;
  }
  return [];
}
