/** Computes the gradient of adapters from their folders before and after an update. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { TrainEngine } from '@trinity-rft/core/engine';

/**
 * Settings of AdamW. Because epsilon is much larger than the gradient, the update is proportional
 * to the gradient.
 */
const [epsilon, factor] = [1e8, 1e-2];
export const proportionalStep = {
  learningRate: factor * epsilon,
  epsilon,
  betas: [0, 0],
  weightDecay: 0,
  clipGradNorm: 0,
} as const;

type Tensors = ReadonlyMap<string, Float32Array>;

/**
 * Lets `engine` make an update from its accumulated gradients. Returns the gradient of the
 * adapters.
 */
export async function adapterGradient(
  engine: TrainEngine,
  before: string,
  after: string,
): Promise<Tensors> {
  await engine.step(proportionalStep);
  await engine.save(after, { optimizer: false });
  const [start, end] = [readAdapter(before), readAdapter(after)];
  return new Map(
    [...end].map(([name, values]) => [
      name,
      values.map((value, i) => ((start.get(name)?.[i] ?? Number.NaN) - value) / factor),
    ]),
  );
}

/**
 * Reads a safetensors file of 32-bit numbers. The file consists of the length of the header, the
 * header, and the numbers.
 */
export function readAdapter(checkpoint: string): Tensors {
  const bytes = readFileSync(path.join(checkpoint, 'lora_adapter', 'adapter_model.safetensors'));
  const start = 8 + Number(bytes.readBigUInt64LE(0));
  const header = JSON.parse(bytes.subarray(8, start).toString()) as Readonly<
    Record<string, { readonly data_offsets?: readonly [number, number] }>
  >;
  return new Map(
    Object.entries(header).flatMap(([name, { data_offsets: offsets }]) => {
      if (offsets === undefined) return [];
      const part = new Uint8Array(bytes.subarray(start + offsets[0], start + offsets[1]));
      return [[name, new Float32Array(part.buffer)] as const];
    }),
  );
}

/**
 * SkyRL trains one matrix A for query, key and value, and one matrix A for gate and up. The
 * gradient of such a shared matrix is the sum over its uses.
 */
const shared = [/(q|k|v)_proj\.lora_A/, /(gate|up)_proj\.lora_A/];

export function normWithSharedMatrices(gradient: Tensors): number {
  const sums = new Map<string, Float32Array>();
  for (const [name, values] of gradient) {
    const key = shared.reduce((text, pattern) => text.replace(pattern, pattern.source), name);
    const sum = sums.get(key);
    sums.set(key, sum === undefined ? values : sum.map((value, i) => value + (values[i] ?? 0)));
  }
  const squares = [...sums.values()].map((values) =>
    values.reduce((total, value) => total + value * value, 0),
  );
  return Math.sqrt(squares.reduce((total, square) => total + square, 0));
}
