/** The tensors of a GGUF file, with the names and the order of rows that Hugging Face uses. */
import type { GgufFile } from '../file/gguf-file.js';
import type { TensorLevels } from '../quantization/levels.js';
import { architectureOf } from './architecture.js';
import { withoutOffset } from './gemma3.js';
import { keysOf } from './keys.js';
import { layerParts, wholeParts } from './names.js';
import { ropeTensors } from './rope.js';

/** A tensor of a GGUF file in the layout of Hugging Face. */
export interface WeightTensor {
  readonly shape: readonly number[];
  /**
   * Decodes the tensor to float32, row-major. `into` has exactly as many elements as the tensor.
   */
  read(into: Float32Array): void;
  /** Integers of the tensor and their scales; undefined for a tensor of floating point numbers. */
  readLevels(): TensorLevels | undefined;
}

const inverse = (names: Readonly<Record<string, string>>): ReadonlyMap<string, string> =>
  new Map(Object.entries(names).map(([hf, gguf]) => [gguf, hf]));

/** Returns a function that converts GGUF names to Hugging Face names, and keeps unknown names. */
function hfNames(file: GgufFile): (name: string) => string {
  const architecture = architectureOf(file);
  const whole = inverse(wholeParts(architecture));
  const layers = inverse(layerParts[architecture]);
  return (name) => {
    const [, layer, part, kind] = /^(?:blk\.(\d+)\.)?([\w.]+)\.(weight|bias)$/.exec(name) ?? [];
    // Ollama's converter gives the last norm of LFM2 the name that other models use.
    const own = architecture === 'lfm2' && part === 'output_norm' ? 'token_embd_norm' : part;
    const known = (layer === undefined ? whole : layers).get(own ?? '');
    if (known === undefined) return name;
    return layer === undefined ? `${known}.${kind}` : `model.layers.${layer}.${known}.${kind}`;
  };
}

/**
 * Returns the shape that Hugging Face uses. There, a convolution has a dimension of size 1, because
 * each channel has a single input. GGUF omits that dimension.
 */
const hfShape = (name: string, shape: readonly number[]): readonly number[] =>
  name.endsWith('.shortconv.conv.weight') ? [shape[0] ?? 0, 1, shape[1] ?? 0] : shape;

export function hfWeights(file: GgufFile): ReadonlyMap<string, WeightTensor> {
  const architecture = architectureOf(file);
  const headsOf = rotatedHeads(file);
  const hfName = hfNames(file);
  return new Map(
    [...file.tensors.values()]
      .filter(({ name }) => !ropeTensors.has(name))
      .map(({ name, shape }) => [
        hfName(name),
        {
          shape: hfShape(name, shape),
          read: (into: Float32Array) => {
            file.read(name, into);
            const heads = headsOf(name);
            if (heads !== undefined) into.set(halvesApart(into, heads, shape[0] ?? 1));
            if (architecture === 'gemma3' && name.endsWith('norm.weight')) withoutOffset(into);
          },
          readLevels: () => {
            const found = file.readLevels(name);
            const heads = headsOf(name);
            if (!found || heads === undefined) return found;
            const apart = <T extends Float32Array | Uint8Array>(from: T): T =>
              halvesApart(from, heads, shape[0] ?? 1);
            const { integers, scales, offsets } = found;
            return {
              ...found,
              integers: apart(integers),
              scales: apart(scales),
              ...(offsets && { offsets: apart(offsets) }),
            };
          },
        },
      ]),
  );
}

/**
 * Architectures for which llama.cpp's converter reorders the rows of the query and key projections.
 */
const reordered: ReadonlySet<string> = new Set(['llama', 'granite', 'mistral3']);

/**
 * Returns a function from a tensor's name to its number of heads; undefined if llama.cpp's
 * converter does not reorder the tensor's rows.
 */
function rotatedHeads(file: GgufFile): (name: string) => number | undefined {
  if (!reordered.has(architectureOf(file))) return () => undefined;
  const keys = keysOf(file);
  const heads = keys.need(keys.own('attention.head_count'));
  const kvHeads = keys.number(keys.own('attention.head_count_kv')) ?? heads;
  return (name) =>
    /\.attn_q\.\w+$/.test(name) ? heads : /\.attn_k\.\w+$/.test(name) ? kvHeads : undefined;
}

/**
 * Undoes the row order of llama.cpp's converter. llama.cpp rotates pairs of adjacent rows of a
 * head; Hugging Face rotates row i of the first half with row i of the second half.
 */
function halvesApart<T extends Float32Array | Uint8Array>(from: T, heads: number, rows: number): T {
  const width = from.length / rows;
  const half = rows / heads / 2;
  const to = from.slice() as T;
  for (let row = 0; row < rows; row++) {
    const [head, within] = [Math.floor(row / (2 * half)), row % (2 * half)];
    const source = head * 2 * half + 2 * (within % half) + Math.floor(within / half);
    to.set(from.subarray(source * width, (source + 1) * width), row * width);
  }
  return to;
}
