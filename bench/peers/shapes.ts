/**
 * Models with the shapes of public models and sizes in between, and folders of random weights for them.
 */
import { existsSync } from 'node:fs';
import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { createRandom } from '../../packages/core/src/index.ts';
import { parameterCount, parameterSpecs } from '../../packages/engine-onnx/src/model/parameters.ts';
import {
  completeConfig,
  toConfigJson,
  type NewModelConfig,
} from '../../packages/engine-onnx/src/storage/new-model.ts';
import { writeSafetensors } from '../../packages/engine-onnx/src/storage/safetensors.ts';
import { benchModels } from '../engine/models.ts';
import { sizes } from '../sizes/shapes.ts';

const shapeOf = (name: string): NewModelConfig => {
  const size = sizes.find((each) => each.name === name);
  if (!size) throw new RangeError(`There is no size ${name}.`);
  return size.config;
};

/** Shapes by millions of weights. */
export const shapes = {
  '0.1M': shapeOf('quickstart'),
  '0.8M': benchModels.small,
  '6M': shapeOf('8 layers'),
  '10M': benchModels.medium,
  '35M': {
    vocabSize: 16_384,
    hiddenSize: 512,
    layers: 8,
    heads: 8,
    kvHeads: 4,
    headDim: 64,
    maxPositions: 1024,
  },
  '135M': shapeOf('SmolLM2-135M'),
  '0.5B': shapeOf('Qwen2.5-0.5B'),
  '1.5B': {
    family: 'qwen2',
    vocabSize: 151_936,
    hiddenSize: 1536,
    layers: 28,
    heads: 12,
    kvHeads: 2,
    headDim: 128,
    intermediateSize: 8960,
    maxPositions: 4096,
  },
} satisfies Record<string, NewModelConfig>;
export type ShapeName = keyof typeof shapes;

export const weightsOf = (name: ShapeName): number => parameterCount(completeConfig(shapes[name]));

/** Folder with bfloat16 weights, the format of public models; created once. */
export async function modelFolder(name: ShapeName, cache: string): Promise<string> {
  const folder = path.join(cache, `model-${name}`);
  if (existsSync(folder)) return folder;
  const draft = `${folder}.tmp`;
  await rm(draft, { recursive: true, force: true });
  await mkdir(draft, { recursive: true });
  const config = completeConfig(shapes[name]);
  const json = { ...toConfigJson(config), torch_dtype: 'bfloat16' };
  await writeFile(path.join(draft, 'config.json'), JSON.stringify(json));
  const specs = parameterSpecs(config);
  const pool = randomNumbers(Math.max(...specs.map(({ size }) => size)));
  const tensors = specs.map(({ name: tensor, shape, size }) => {
    const data = shape.length === 1 ? new Float32Array(size).fill(1) : pool.subarray(0, size);
    return { name: tensor, shape, data };
  });
  await writeSafetensors(path.join(draft, 'model.safetensors'), tensors, { type: 'BF16' });
  await rename(draft, folder);
  return folder;
}

/** Normally distributed numbers with a deviation of 0.02, which repeat after a million. */
function randomNumbers(count: number): Float32Array {
  const period = Math.min(count, 1_000_003);
  const random = createRandom(1);
  const numbers = new Float32Array(count);
  for (let i = 0; i < period; i++) numbers[i] = 0.02 * random.normal();
  for (let at = period; at < count; at += period)
    numbers.copyWithin(at, 0, Math.min(period, count - at));
  return numbers;
}
