/** Converts the scaling of rotary frequencies in a GGUF file to `rope_scaling`. */
import { unsupported } from '../file/failure.js';
import type { GgufFile } from '../file/gguf-file.js';
import { architectureOf } from './architecture.js';
import type { Keys } from './keys.js';

/**
 * Name of the tensor with the divisors of the rotary frequencies. llama.cpp's converter writes it
 * for Llama 3.1 and later, and for Gemma 4.
 */
export const ropeFactorsName = 'rope_freqs.weight';

/**
 * Names of the tensors with the divisors of longrope: one for sequences up to the original context
 * length, one for longer sequences.
 */
export const longRopeNames = {
  short_factor: 'rope_factors_short.weight',
  long_factor: 'rope_factors_long.weight',
} as const;

/** Names of tensors that hold divisors of rotary frequencies, which are not weights. */
export const ropeTensors: ReadonlySet<string> = new Set([
  ropeFactorsName,
  ...Object.values(longRopeNames),
]);

interface Rotary {
  readonly theta: number;
  /** Rotary dimension: number of dimensions of each head to which rotary embeddings apply. */
  readonly headDim: number;
}

/**
 * Returns `rope_scaling` of config.json, from the metadata and the tensors of divisors; undefined
 * if frequencies are not scaled.
 * @throws CheckpointError when the divisors are not those of Llama 3 or Gemma 4
 */
export function ropeScaling(
  file: GgufFile,
  keys: Keys,
  rotary: Rotary,
): Readonly<Record<string, unknown>> | undefined {
  const context = keys.number(keys.own('rope.scaling.original_context_length'));
  if (architectureOf(file) === 'gemma4') return proportional(file, rotary);
  if (file.tensors.has(ropeFactorsName)) return llama3Scaling(file, rotary, context);
  if (file.tensors.has(longRopeNames.short_factor)) return longRope(file, keys, context);
  const number = (name: string): number | undefined => keys.number(keys.own(name));
  const type = keys.text(keys.own('rope.scaling.type')) ?? 'none';
  if (type === 'none') return undefined;
  const factor = number('rope.scaling.factor');
  const common = { rope_type: type, factor, original_max_position_embeddings: context };
  if (type !== 'yarn') return common;
  const all = number('rope.scaling.yarn_log_multiplier');
  // llama.cpp multiplies the stored factor by its own factor, see `save/rope.ts`.
  const own = 0.1 * Math.log(factor ?? 1) + 1;
  const stored = number('rope.scaling.attn_factor');
  // Early files of OLMo 3 hold the product.
  const isProduct = architectureOf(file) === 'olmo2' && Math.abs((stored ?? 0) - own) < 1e-3;
  return {
    ...common,
    beta_fast: number('rope.scaling.yarn_beta_fast'),
    beta_slow: number('rope.scaling.yarn_beta_slow'),
    ...(all ? { mscale: 1, mscale_all_dim: all } : {}),
    ...(stored !== undefined && { attention_factor: isProduct ? stored : stored * own }),
    llama_4_scaling_beta: number('attention.temperature_scale'),
  };
}

/**
 * Returns `rope_parameters` of config.json for a model that scales rotary frequencies only in
 * layers with full attention.
 * @param full base and scaling in layers with full attention
 * @param theta base in layers with a sliding window
 */
export const ropeByLayerType = (full: Readonly<Record<string, unknown>>, theta: unknown) => ({
  full_attention: { rope_type: 'default', ...full },
  sliding_attention: { rope_type: 'default', rope_theta: theta },
});

function longRope(
  file: GgufFile,
  keys: Keys,
  context: number | undefined,
): Readonly<Record<string, unknown>> {
  const divisors = Object.entries(longRopeNames).map(([key, name]) => {
    const numbers = new Float32Array(file.tensors.get(name)?.shape[0] ?? 0);
    if (numbers.length > 0) file.read(name, numbers);
    return [key, [...numbers]];
  });
  return {
    rope_type: 'longrope',
    ...Object.fromEntries(divisors),
    attention_factor: keys.number(keys.own('rope.scaling.attn_factor')),
    original_max_position_embeddings: context,
  };
}

/**
 * Settings that Llama 3.1 and 3.2 share. The models differ only in `factor`. The largest divisor
 * equals `factor`, unless the heads are so small that no frequency is below the lower bound.
 */
const llama3 = { rope_type: 'llama3', low_freq_factor: 1, high_freq_factor: 4 } as const;
const llama3Context = 8192;

function llama3Scaling(
  file: GgufFile,
  rotary: Rotary,
  context = llama3Context,
): Readonly<Record<string, unknown>> {
  const divisors = readDivisors(file, rotary);
  const { low_freq_factor: low, high_freq_factor: high } = llama3;
  const slowest = divisors.length - 1;
  const smooth = smoothing(slowest, { ...rotary, low, high, context });
  const largest = divisors[slowest]!;
  // If no frequency of the heads is scaled, every factor gives the same divisors.
  const factor = smooth === 1 ? 1 : ((1 - smooth) * largest) / (1 - smooth * largest);
  const expected = llama3Divisors({ ...rotary, factor, low, high, context });
  if (
    largest > 0 &&
    divisors.every((divisor, i) => Math.abs(divisor - expected[i]!) <= 1e-4 * divisor)
  )
    return { ...llama3, factor, original_max_position_embeddings: context };
  throw otherDivisors(file, 'Llama 3');
}

const otherDivisors = ({ path }: GgufFile, expected: string) =>
  unsupported(
    path,
    ropeFactorsName,
    `its rotary frequencies are scaled in a way that is not supported: ${ropeFactorsName} is not that of ${expected}. Use the Hugging Face folder of this model.`,
  );

/**
 * Returns the divisors of all frequencies; zeros if the file lacks the tensor, or the tensor has
 * another length.
 */
function readDivisors(file: GgufFile, { headDim }: Rotary): Float32Array {
  const divisors = new Float32Array(headDim / 2);
  if (file.tensors.get(ropeFactorsName)?.shape.join() === String(divisors.length))
    file.read(ropeFactorsName, divisors);
  return divisors;
}

/**
 * Divisor that llama.cpp's converter writes for frequencies that are to be 0, so that these
 * dimensions are not rotated.
 */
const endless = 1e30;

/**
 * Returns divisors that leave a share of the frequencies unchanged, and set the others to about 0.
 * @param part share of unchanged frequencies, which come first: 0 to 1
 */
export function proportionalDivisors(headDim: number, part: number): readonly number[] {
  const rotated = Math.floor((part * headDim) / 2);
  return Array.from({ length: headDim / 2 }, (_, i) => (i < rotated ? 1 : endless));
}

function proportional(file: GgufFile, rotary: Rotary): Readonly<Record<string, unknown>> {
  const divisors = readDivisors(file, rotary);
  const part = divisors.filter((divisor) => divisor === 1).length / divisors.length;
  const expected = Float32Array.from(proportionalDivisors(rotary.headDim, part));
  if (part > 0 && divisors.every((divisor, i) => divisor === expected[i]))
    return { rope_type: 'proportional', partial_rotary_factor: part };
  throw otherDivisors(file, 'Gemma 4');
}

/** Settings that determine the divisors of Llama 3. */
export interface Llama3Rope extends Rotary {
  readonly factor: number;
  /** `low_freq_factor`: frequencies with fewer rotations over `context` are divided by `factor`. */
  readonly low: number;
  /** `high_freq_factor`: frequencies with more rotations over `context` are unchanged. */
  readonly high: number;
  /** Original context length (before scaling), in tokens. */
  readonly context: number;
}

/**
 * Returns Llama 3's divisors of the headDim / 2 rotary frequencies.
 * @see transformers, `_compute_llama3_parameters`
 */
export const llama3Divisors = ({ factor, ...rope }: Llama3Rope): readonly number[] =>
  Array.from({ length: rope.headDim / 2 }, (_, i) => {
    const smooth = smoothing(i, rope);
    return factor / (1 - smooth + smooth * factor);
  });

/** Returns how much of frequency `i` stays unscaled: 0 (divided by `factor`) to 1 (unchanged). */
function smoothing(
  i: number,
  { low, high, context, theta, headDim }: Omit<Llama3Rope, 'factor'>,
): number {
  const rotations = context / (2 * Math.PI * theta ** ((2 * i) / headDim));
  return Math.min(1, Math.max(0, (rotations - low) / (high - low)));
}
