/** Chooses the data type of each tensor. */
import { encoderOf, type EncodedType } from '../quantization/encoders.js';
import type { PlannedTensor } from './tensors.js';

/** Data types of a whole file, with their numbers in `general.file_type`. */
const fileTypes = { F32: 0, F16: 1, Q8_0: 7, Q4_K_M: 15, Q6_K: 18, BF16: 32 } as const;

/**
 * Data type of a file: floating-point numbers of 32 or 16 bits, or blocks of about 8, 6 or 4 bits
 * per weight. `Q4_K_M` uses 6 bits for the most sensitive tensors.
 */
export type GgufFileType = keyof typeof fileTypes;

export const ggufFileTypes = Object.keys(fileTypes) as readonly GgufFileType[];

export const fileTypeNumber = (type: GgufFileType): number => fileTypes[type];

export interface ChosenType {
  readonly type: EncodedType;
  /**
   * Data type that the tensor should have had, if its rows do not consist of whole blocks of that
   * data type; otherwise undefined.
   */
  readonly instead?: EncodedType;
}

/**
 * Returns true for tensors that are always written as F32, because they are small and llama.cpp
 * requires full precision or does not quantise them either: vectors, norms, routers, kernels of
 * convolutions, and the projection to the per-layer inputs.
 */
const isPlain = ({ name, shape }: PlannedTensor): boolean =>
  shape.length < 2 ||
  /_norm\.|ffn_gate_inp|shortconv\.conv\.|ssm_conv1d|per_layer_model_proj/.test(name);

/**
 * Chooses the data type of a tensor in a file of the data type `wanted`.
 * @param layers number of layers of the model
 * @param tied true if the output head is the embedding matrix
 */
export function chooseType(
  tensor: PlannedTensor,
  wanted: GgufFileType,
  { layers, tied }: { readonly layers: number; readonly tied: boolean },
): ChosenType {
  if (isPlain(tensor)) return { type: 'F32' };
  const type = wanted === 'Q4_K_M' ? mixed(tensor, layers, tied) : wanted;
  const width = tensor.shape.at(-1) ?? 1;
  const fits = (each: EncodedType): boolean => width % encoderOf(each).blockLength === 0;
  if (fits(type)) return { type };
  return { type: fits('Q8_0') ? 'Q8_0' : 'F16', instead: type };
}

/**
 * Returns the data type of a tensor in a Q4_K_M file. Tensors that have 5 bits in llama.cpp's files
 * get 6 bits.
 * @see llama-quant.cpp, `llama_tensor_get_type`
 */
function mixed({ name, layer = 0 }: PlannedTensor, layers: number, tied: boolean): EncodedType {
  const isHead = name === 'output.weight' || (tied && name.endsWith('token_embd.weight'));
  if (isHead || name.includes('attn_qkv')) return 'Q6_K';
  const sensitive = /\.(attn_v|ffn_down|ffn_down_exps)\.weight$/.test(name);
  return sensitive && hasMoreBits(layer, layers) ? 'Q6_K' : 'Q4_K';
}

/**
 * Returns true for the first and the last eighth of the layers, and for every third layer between
 * them.
 */
function hasMoreBits(layer: number, layers: number): boolean {
  const eighth = Math.floor(layers / 8);
  return layer < eighth || layer >= Math.floor((7 * layers) / 8) || (layer - eighth) % 3 === 2;
}
