/** Models of every family in the tests of engine-onnx. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { ModelConfig } from '../../../packages/engine-onnx/src/model/config.js';
import { readModelConfig } from '../../../packages/engine-onnx/src/storage/model-folder.js';
import { tinyModels } from '../../../packages/engine-onnx/test/support/models.js';

const folder = new URL('../../../packages/engine-onnx/test/fixtures/', import.meta.url).pathname;

/** Folders that do not contain a language model for these tests. */
const others = ['critic', 'gated-delta', 'peft-qwen3'];

/** Models whose graphs have operators without kernels: loops, and the gated delta rule. */
export const withoutKernels = ['qwen3_5_text', 'llama with the gated delta rule'];

const fixtures = await Promise.all(
  readdirSync(folder)
    .filter((name) => !others.includes(name))
    .map(async (name) => [name, await readModelConfig(join(folder, name))] as const),
);

const all = new Map<string, ModelConfig>([...fixtures, ...Object.entries(tinyModels)]);

export const modelNames: readonly string[] = all.keys().toArray();

export const modelOf = (name: string): ModelConfig => all.get(name)!;
