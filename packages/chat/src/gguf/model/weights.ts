/** The tensors of a GGUF file, with the names, values and order that Hugging Face uses. */
import { unsupported } from '../file/failure.js';
import type { FileTensor, GgufFile, GgufTensor } from '../file/gguf-file.js';
import type { TensorLevels } from '../quantization/levels.js';
import { architectureOf, type GgufArchitecture } from './architecture.js';
import { describe } from './keys.js';
import { inverseOf, isDivisible, orderOf, toFileOrder, valuesOf, type Order } from './layout.js';
import {
  expertPart,
  expertParts,
  hfName,
  layerParts,
  parseGgufName,
  wholeParts,
  type ParsedName,
} from './names.js';
import { ropeTensors } from './rope.js';

/** A tensor of a GGUF file in the layout of Hugging Face. */
export interface WeightTensor {
  readonly shape: readonly number[];
  /**
   * True if the file has another order of rows or columns, so that each `read` decodes the whole
   * tensor.
   */
  readonly isReordered: boolean;
  /**
   * Decodes elements of the tensor to float32, in row-major order, until `into` is full.
   * @param start index of the first element, which must be at the start of a row. @default 0
   */
  read(into: Float32Array, start?: number): void;
  /**
   * Returns the integers of a quantised tensor and their scales; undefined for a floating-point
   * tensor.
   * @throws CheckpointError when Hugging Face's order of the columns would divide blocks
   */
  readLevels(): TensorLevels | undefined;
  /**
   * Returns the tensor in the format of the file, in which it is smaller than in float32. Undefined
   * for an F32 tensor, and for one whose values or order differ from those of the file.
   */
  stored(): FileTensor | undefined;
}

const inverse = (names: Readonly<Record<string, string>>): ReadonlyMap<string, string> =>
  new Map(Object.entries(names).map(([hf, gguf]) => [gguf, hf]));

/**
 * Returns a function that converts the part of a parsed GGUF name to the part of Hugging Face's
 * name; undefined for an unknown part.
 */
function hfParts(architecture: GgufArchitecture): (name: ParsedName) => string | undefined {
  const whole = inverse(wholeParts(architecture));
  const layers = inverse(layerParts[architecture]);
  return ({ layer, part }) => {
    // Ollama's converter gives the last norm of LFM2 the name that other models use.
    const own = architecture === 'lfm2' && part === 'output_norm' ? 'token_embd_norm' : part;
    return (layer === undefined ? whole : layers).get(own);
  };
}

/**
 * Returns Hugging Face's shape of a tensor. It has an additional dimension of size 1 for
 * convolutions, because each channel has a single input.
 */
const hfShape = (part: string, shape: readonly number[]): readonly number[] =>
  part === 'shortconv.conv' || part === 'ssm_conv1d' ? [shape[0] ?? 0, 1, shape[1] ?? 0] : shape;

/**
 * Matches the names of tensors of image and audio encoders, and of the projections of their
 * outputs.
 */
const encoderParts = /^(v|a|mm)\./;

export const hasEncoders = ({ tensors }: GgufFile): boolean =>
  [...tensors.keys()].some((name) => encoderParts.test(name));

/**
 * Returns the weights of the model by Hugging Face's names. Leaves out layers for multi-token
 * prediction, which come after the other layers, and image and audio encoders, which Ollama keeps
 * in the same file.
 */
export function hfWeights(file: GgufFile): ReadonlyMap<string, WeightTensor> {
  const architecture = architectureOf(file);
  const described = describe(file);
  const partOf = hfParts(architecture);
  return new Map(
    [...file.tensors.values()]
      .map((tensor) => ({ tensor, parsed: parseGgufName(tensor.name) }))
      .filter(({ tensor: { name } }) => !ropeTensors.has(name) && !encoderParts.test(name))
      .filter(({ parsed }) => (parsed.layer ?? 0) < described.layers)
      .flatMap(({ tensor, parsed }): readonly (readonly [string, WeightTensor])[] => {
        const { part } = parsed;
        const matrix = architecture === 'qwen3moe' ? expertParts[part] : undefined;
        if (matrix !== undefined) return expertsOf(file, tensor, parsed, matrix);
        const own = partOf(parsed);
        const weight = arranged(file, tensor, {
          shape: hfShape(part, tensor.shape),
          order: orderOf(architecture, part, described),
          fromFile: valuesOf(architecture, part)?.fromFile,
        });
        return [[own === undefined ? tensor.name : hfName(parsed, own), weight]];
      }),
  );
}

/** Splits a tensor that stacks a matrix of all experts into one matrix per expert. */
function expertsOf(
  file: GgufFile,
  tensor: GgufTensor,
  parsed: ParsedName,
  matrix: string,
): readonly (readonly [string, WeightTensor])[] {
  const [experts = 0, ...shape] = tensor.shape;
  const count = shape.reduce((product, n) => product * n, 1);
  return Array.from({ length: experts }, (_, expert) => {
    const start = expert * count;
    const weight: WeightTensor = {
      shape,
      isReordered: false,
      read: (into, from = 0) => file.read(tensor.name, into, start + from),
      readLevels: () => file.readLevels(tensor.name, { start, count }),
      stored: () => undefined,
    };
    return [hfName(parsed, expertPart(expert, matrix)), weight] as const;
  });
}

interface Arrangement {
  readonly shape: readonly number[];
  readonly order: Order | undefined;
  /** Converts a value of the file to Hugging Face's value; undefined if the values are the same. */
  readonly fromFile: ((value: number) => number) | undefined;
}

function arranged(
  file: GgufFile,
  { name, shape: [rows = 1], type }: GgufTensor,
  { shape, order, fromFile }: Arrangement,
): WeightTensor {
  const own = <T extends Float32Array | Uint8Array>(from: T): T => {
    if (!order) return from;
    if (isDivisible(from.length, rows, order)) return toFileOrder(from, rows, inverseOf(order));
    throw unsupported(
      file.path,
      name,
      `blocks of tensor ${name} hold columns of several heads, which Hugging Face orders differently. Set model.quantization to none, or use a file of this model in F16 or F32.`,
    );
  };
  return {
    shape,
    isReordered: order !== undefined,
    read: (into, start = 0) => {
      if (order) {
        const size = shape.reduce((product, n) => product * n, 1);
        const whole = into.length === size ? into : new Float32Array(size);
        file.read(name, whole);
        into.set(own(whole).subarray(start, start + into.length));
      } else file.read(name, into, start);
      if (fromFile) into.forEach((value, i) => void (into[i] = fromFile(value)));
    },
    readLevels: () => {
      const found = file.readLevels(name);
      if (!found || !order) return found;
      const { integers, scales, offsets } = found;
      return {
        ...found,
        integers: own(integers),
        scales: own(scales),
        ...(offsets && { offsets: own(offsets) }),
      };
    },
    stored: () => (order || fromFile || type === 'F32' ? undefined : file.stored(name)),
  };
}
