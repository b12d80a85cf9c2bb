/** Stores the bytes of weights inside the model file, or in files next to it. */
import { open, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { ExternalBytes } from './graph/record.js';

/**
 * Stores the bytes of a constant. Returns the bytes themselves if they belong in the model file,
 * otherwise their location in a file next to it.
 */
export type Place = (bytes: Uint8Array | BytesInPieces) => Promise<Uint8Array | ExternalBytes>;

/** Bytes that are made piece by piece while they are stored. */
interface BytesInPieces {
  /** Number of bytes of all pieces. */
  readonly length: number;
  readonly pieces: Iterable<Uint8Array>;
}

export interface WeightPlace {
  readonly put: Place;
  /** Number of files next to the model. */
  count(): number;
  close(): Promise<void>;
}

/**
 * Creates a store for the bytes of weights. Files next to the model get the names that
 * transformers.js expects, such as `model.onnx_data` and `model.onnx_data_1`.
 * @param options.most maximum size in bytes of a file next to the model; undefined to put all bytes
 * into the model file
 */
export function weightPlace(options: {
  readonly folder: string;
  readonly file: string;
  readonly most: number | undefined;
  readonly signal: AbortSignal | undefined;
}): WeightPlace {
  const { folder, file, most, signal } = options;
  let [files, offset] = [0, 0];
  let handle: FileHandle | undefined;
  const nameOf = (index: number): string => `${file}_data${index === 0 ? '' : `_${index}`}`;
  const close = async (): Promise<void> => {
    await handle?.close();
    handle = undefined;
  };
  const outside = async ({ length, pieces }: BytesInPieces, limit: number) => {
    if (handle === undefined || offset + length > limit) {
      await close();
      handle = await open(join(folder, nameOf(files)), 'w');
      files++;
      offset = 0;
    }
    await handle.writeFile(pieces);
    const at = { location: nameOf(files - 1), offset, length };
    offset += length;
    return at;
  };
  return {
    put: async (bytes) => {
      // Converting tensors never yields to the event loop, so an abort signal can only arrive here.
      await nextTurn();
      signal?.throwIfAborted();
      const isWhole = bytes instanceof Uint8Array;
      if (most !== undefined)
        return outside(isWhole ? { length: bytes.length, pieces: [bytes] } : bytes, most);
      return isWhole ? bytes : Buffer.concat([...bytes.pieces]);
    },
    count: () => files,
    close,
  };
}
