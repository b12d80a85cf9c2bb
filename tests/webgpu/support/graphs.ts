/** Graphs of the engine with inputs, and their expected outputs from ONNX Runtime. */
import { InferenceSession, Tensor } from 'onnxruntime-node';

import type {
  HostArray,
  ModelRecord,
  Numbers,
} from '../../../packages/engine-onnx/src/runtime/graph-runtime.js';
import type { ModelConfig } from '../../../packages/engine-onnx/src/model/config.js';
import { parameterSpecs } from '../../../packages/engine-onnx/src/model/parameters.js';
import { RopeFeeds } from '../../../packages/engine-onnx/src/model/rope.js';
import { encodeModel } from '../../../packages/engine-onnx/src/onnx/graph/schema.js';
import {
  gatherPicked,
  planMicroBatches,
  toArrays,
} from '../../../packages/engine-onnx/src/train/micro-batch.js';
import { checkedRows, responseOffsets } from '../../../packages/engine-onnx/src/train/rows.js';
import { livelyWeights, randomBatch } from '../../../packages/engine-onnx/test/support/models.js';
import { cpu } from '../../../packages/engine-onnx/test/support/runtime.js';
import type { OnnxArray } from '../../../packages/engine-onnx/src/runtime/onnx-arrays.js';

export type Inputs = Readonly<Record<string, HostArray>>;
export type Outputs = Readonly<Record<string, Numbers>>;

export const floats = (shape: readonly number[], data: Float32Array): HostArray => ({
  dtype: 'float32',
  shape,
  data,
});

export const integers = (shape: readonly number[], data: Int32Array): HostArray => ({
  dtype: 'int32',
  shape,
  data,
});

/** Numbers between -1 and 1 that differ from position to position. */
export const wave = (count: number, phase = 0): Float32Array =>
  Float32Array.from({ length: count }, (_, i) => Math.sin(i * 1.37 + phase));

/** Splits the output head into a single chunk. */
export const wholeHead = (shape: readonly [number, number]) => [shape[0]];

/** Inputs of one graph, taken from the inputs of several graphs. */
export const inputsOf = (record: ModelRecord, inputs: Inputs): Inputs =>
  Object.fromEntries(record.inputs.map(({ name }) => [name, inputs[name]!]));

/** Computes the outputs with ONNX Runtime. */
export async function reference(record: ModelRecord, inputs: Inputs): Promise<Outputs> {
  const session = await InferenceSession.create(Buffer.concat(encodeModel(record)), {
    intraOpNumThreads: 1,
    graphOptimizationLevel: 'basic',
    logSeverityLevel: 3,
  });
  const feeds = Object.entries(inputsOf(record, inputs)).map(
    ([name, { dtype, data, shape }]) => [name, new Tensor(dtype, data as never, shape)] as const,
  );
  const found = await session.run(Object.fromEntries(feeds));
  await session.release();
  return Object.fromEntries(
    Object.entries(found).map(([name, { data }]) => [name, data as Numbers]),
  );
}

export interface TrainingCase {
  readonly config: ModelConfig;
  readonly inputs: Inputs;
  /** Sizes of the symbolic dimensions: rows, positions, picked positions. */
  readonly batch: number;
  readonly time: number;
  readonly picked: number;
}

/** Weights that differ strongly from the initial ones, and a batch for the training graphs, with all gradients. */
export function trainingCase(
  config: ModelConfig,
  {
    lengths = [9, 6],
    chunks = 1,
  }: { readonly lengths?: readonly number[]; readonly chunks?: number } = {},
): TrainingCase {
  const batch = randomBatch(config, lengths, 1, 0.8);
  const offsets = responseOffsets(batch);
  const rows = checkedRows(batch, offsets, config);
  const micro = planMicroBatches(rows, () => 1, 1e9)[0]!;
  const arrays = toArrays(micro, chunks);
  const { time } = micro;
  const [size, picked] = [arrays.ids.length / time, arrays.padded];
  const gradient = wave(offsets.at(-1)!).map((x) => x / 4);
  const column = (numbers: Float32Array): HostArray => floats([picked, 1], numbers);
  return {
    config,
    batch: size,
    time,
    picked,
    inputs: {
      ...parameters(config),
      ...tables(config, time),
      ids: integers([size, time], arrays.ids),
      rows: integers([picked], arrays.rows),
      targets: integers([picked, 1], arrays.targets),
      spread: integers([size * time], arrays.spread),
      inverse_temperature: column(arrays.inverseTemperature),
      grad_logprobs: column(gatherPicked(micro, gradient, picked)),
      grad_entropy: column(gatherPicked(micro, wave(offsets.at(-1)!, 1), picked)),
    },
  };
}

export function parameters(config: ModelConfig, std = 0.2): Inputs {
  const flat = livelyWeights(config, 1, std);
  return Object.fromEntries(
    parameterSpecs(config).map(({ name, shape, offset, size }) => [
      name,
      floats(shape, flat.slice(offset, offset + size)),
    ]),
  );
}

/** Rotary tables for positions below `length`. */
export function tables(config: ModelConfig, length: number): Inputs {
  const feeds = new RopeFeeds(cpu(), config).feeds(length);
  return Object.fromEntries(
    Object.entries(feeds).map(([name, table]) => {
      const { tensor, shape } = table as OnnxArray;
      return [name, floats(shape, tensor.data as Float32Array)];
    }),
  );
}

/** Largest difference, relative to the largest expected entry. */
export function difference(
  found: ArrayLike<number | bigint>,
  expected: ArrayLike<number | bigint>,
): number {
  if (found.length !== expected.length) return Infinity;
  let [most, scale] = [0, 1e-30];
  for (let i = 0; i < expected.length; i++) {
    const gap = Math.abs(Number(found[i]) - Number(expected[i]));
    most = gap <= most ? most : gap;
    scale = Math.max(scale, Math.abs(Number(expected[i])));
  }
  return most / scale;
}
