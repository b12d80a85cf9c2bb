/** Reads stored weights one tensor at a time, for programs that convert them. */
import { CheckpointError } from '@trinity-rft/core';

import { textTensors } from './text-part.js';
import { openSafetensorsFiles, openWeightFiles } from './weight-files.js';

export interface StoredWeights {
  /** Row-major shapes of the tensors, by Hugging Face name. */
  readonly tensors: ReadonlyMap<string, { readonly shape: readonly number[] }>;
  /**
   * Reads a tensor into a new row-major float32 array.
   * @throws CheckpointError when there is no such tensor, or its file is truncated
   */
  read(name: string): Promise<Float32Array>;
  close(): Promise<void>;
}

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
  const shapeOf = (name: string): readonly number[] | undefined =>
    files.tensors.get(name)?.tensors.get(name)?.shape;
  return {
    tensors: new Map(
      [...files.tensors.keys()].map((name) => [name, { shape: shapeOf(name) ?? [] }]),
    ),
    read: async (name) => {
      const file = files.tensors.get(name);
      if (!file)
        throw new CheckpointError(`${path} holds no tensor ${name}.`, {
          code: 'WEIGHTS_TENSOR_MISSING',
          details: { tensor: name },
        });
      const size = (shapeOf(name) ?? []).reduce((product, n) => product * n, 1);
      const numbers = new Float32Array(size);
      await file.read(name, numbers);
      return numbers;
    },
    close: () => files.close(),
  };
}
