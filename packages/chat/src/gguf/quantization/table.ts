import { q4k, q5k, q6k } from './blocks-of-256.js';
import { q40, q41, q50, q51, q80 } from './blocks-of-32.js';
import { bf16, f16, f32 } from './plain.js';
import type { TensorType } from './types.js';

export type { TensorType } from './types.js';

/** Data types that can be read, by their number in ggml. */
export const tensorTypes: ReadonlyMap<number, TensorType> = new Map([
  [0, f32],
  [1, f16],
  [2, q40],
  [3, q41],
  [6, q50],
  [7, q51],
  [8, q80],
  [12, q4k],
  [13, q5k],
  [14, q6k],
  [30, bf16],
]);

/** Names of data types that cannot be read, by their number in ggml, for error messages. */
const others: ReadonlyMap<number, string> = new Map([
  [9, 'Q8_1'],
  [10, 'Q2_K'],
  [11, 'Q3_K'],
  [15, 'Q8_K'],
  [16, 'IQ2_XXS'],
  [17, 'IQ2_XS'],
  [18, 'IQ3_XXS'],
  [19, 'IQ1_S'],
  [20, 'IQ4_NL'],
  [21, 'IQ3_S'],
  [22, 'IQ2_S'],
  [23, 'IQ4_XS'],
  [29, 'IQ1_M'],
  [34, 'TQ1_0'],
  [35, 'TQ2_0'],
  [39, 'MXFP4'],
]);

export const typeName = (type: number): string => others.get(type) ?? `the format ${type}`;
