/** Reads stored weights one tensor at a time, for programs that convert them. */
import { CheckpointError } from '@trinity-rft/core';

import { textTensors } from './text-part.js';
import { openSafetensorsFiles, openWeightFiles, type WeightFile } from './weight-files.js';

export interface StoredWeights {
  /** Row-major shapes of the tensors, by Hugging Face name. */
  readonly tensors: ReadonlyMap<string, { readonly shape: readonly number[] }>;
  /**
   * Reads a tensor into a new row-major float32 array.
   * @throws CheckpointError when there is no such tensor, or its file is truncated
   */
  read(name: string): Promise<Float32Array>;
  /**
   * Reads a tensor as {@link read} does, in parts of whole rows. Parts may share one array, which
   * the next part overwrites. A tensor that the file orders differently is a single part.
   * @param most maximum number of elements of a part of several rows. @default 2^20
   */
  readParts(name: string, most?: number): AsyncIterable<Float32Array>;
  close(): Promise<void>;
}

/** Adjacent elements of a tensor: whole rows. */
interface ElementRange {
  readonly start: number;
  readonly count: number;
}

/**
 * Divides a tensor into parts of whole rows.
 * @param most maximum number of elements of a part of several rows. @default 2^20
 */
export function* rowParts(
  [rows = 1, ...row]: readonly number[],
  most = 2 ** 20,
): Generator<ElementRange> {
  const width = sizeOf(row);
  const step = Math.max(1, Math.floor(most / width));
  for (let at = 0; at < rows; at += step)
    yield { start: at * width, count: Math.min(step, rows - at) * width };
}

const sizeOf = (shape: readonly number[]): number => shape.reduce((size, n) => size * n, 1);

/**
 * Opens the weights of a model: a Hugging Face folder with one or several safetensors files, a GGUF
 * file, or a single safetensors file such as an adapter's `adapter_model.safetensors`. Opening
 * reads only the headers, and each `read` reads one tensor.
 * @throws CheckpointError when there are no weights, or a file is damaged
 */
export async function openWeights(path: string): Promise<StoredWeights> {
  const files = path.endsWith('.safetensors')
    ? await openSafetensorsFiles([path])
    : textTensors(await openWeightFiles(path));
  const shapeOf = (name: string): readonly number[] =>
    files.tensors.get(name)?.tensors.get(name)?.shape ?? [];
  const fileOf = (name: string): WeightFile => {
    const file = files.tensors.get(name);
    if (file) return file;
    throw new CheckpointError(`${path} holds no tensor ${name}.`, {
      code: 'WEIGHTS_TENSOR_MISSING',
      details: { tensor: name },
    });
  };
  return {
    tensors: new Map([...files.tensors.keys()].map((name) => [name, { shape: shapeOf(name) }])),
    read: async (name) => {
      const file = fileOf(name);
      const numbers = new Float32Array(sizeOf(shapeOf(name)));
      await file.read(name, numbers);
      return numbers;
    },
    readParts: async function* (name, most) {
      const file = fileOf(name);
      const mostInPart = file.tensors.get(name)?.isReordered ? Infinity : most;
      let numbers: Float32Array | undefined;
      for (const { start, count } of rowParts(shapeOf(name), mostInPart)) {
        numbers ??= new Float32Array(count);
        const part = numbers.subarray(0, count);
        await file.read(name, part, start);
        yield part;
      }
    },
    close: () => files.close(),
  };
}
