// Converts the values of golden vectors to loss inputs, experiences and arguments.
import {
  createExperience,
  type Experience,
  type LossInput,
  withFields,
} from '../../packages/core/src/index.ts';

export type Matrix = readonly (readonly number[])[];

/** Numbers of a mask, or words for a constant mask: "all zero", "all one". */
export type Mask = Matrix | string;

export interface LossVectors {
  readonly action_mask: Mask;
  readonly logprob: Matrix;
  readonly old_logprob?: Matrix;
  readonly ref_logprob?: Matrix;
  readonly advantages?: Matrix;
  readonly entropy?: Matrix;
  /** One value per row. [B] */
  readonly expert_mask?: readonly (number | boolean)[];
  /** One value per row, used for all tokens of the row. [B] */
  readonly step?: readonly number[];
}

export interface ExperienceVector {
  readonly task: number;
  readonly run: number;
  readonly step: number;
  readonly reward: number;
  readonly response_length: number;
  readonly action_mask?: readonly number[] | string;
  readonly logprobs?: readonly number[];
}

export const flat = (matrix: Matrix): Float32Array => Float32Array.from(matrix.flat());

/** Builds the loss input. Rows include padding; a missing column is 0. */
export function toLossInput(vectors: LossVectors): LossInput {
  const { entropy, expert_mask: experts } = vectors;
  const mask = maskOf(vectors.action_mask, vectors.logprob);
  const column = (matrix: Matrix | undefined): Float32Array =>
    matrix ? flat(matrix) : new Float32Array(mask.flat().length);
  return {
    offsets: offsetsOf(mask),
    actionMask: Uint8Array.from(mask.flat()),
    currentLogprobs: column(vectors.logprob),
    oldLogprobs: column(vectors.old_logprob),
    refLogprobs: column(vectors.ref_logprob),
    advantages: column(vectors.advantages),
    step: vectors.step?.[0] ?? 1,
    ...(entropy && { entropy: flat(entropy) }),
    ...(experts && { expertMask: Uint8Array.from(experts, Number) }),
  };
}

/**
 * Expands a mask.
 * @param like rows with the lengths of the mask
 */
export const maskOf = (mask: Mask, like: Matrix): Matrix =>
  typeof mask === 'string' ? like.map((row) => row.map(() => bitOf(mask))) : mask;

/**
 * Value of a mask in words.
 * @throws RangeError for unknown words
 */
function bitOf(words: string): 0 | 1 {
  if (/^all[ -](zeros?|0)$/i.test(words)) return 0;
  if (/^all[ -](ones?|1)$/i.test(words)) return 1;
  throw new RangeError(
    `the mask is ${JSON.stringify(words)}; expected numbers, "all zero" or "all one"`,
  );
}

/** Start positions of the rows, and the end of the last row. */
export function offsetsOf(matrix: Matrix): Int32Array {
  const offsets = new Int32Array(matrix.length + 1);
  matrix.forEach((row, i) => (offsets[i + 1] = offsets[i]! + row.length));
  return offsets;
}

/**
 * Builds an experience. The mask determines the length, because some of Trinity-RFT's tests state
 * another length for the response.
 */
export function toExperience(vector: ExperienceVector): Experience {
  const { action_mask: mask = 'all one', response_length: length } = vector;
  const actionMask = typeof mask === 'string' ? Array<number>(length).fill(bitOf(mask)) : mask;
  const experience = createExperience({
    tokens: Array.from({ length: actionMask.length + 1 }, () => 1),
    promptLength: 1,
    actionMask,
    reward: vector.reward,
    eid: { batch: 0, task: vector.task, run: vector.run, step: vector.step },
  });
  if (!vector.logprobs) return experience;
  // Trinity-RFT's log-probabilities may be above 0, ours may not. Only their order within a task
  // matters.
  return withFields(experience, {
    logprobs: Float32Array.from(actionMask, (_, t) => vector.logprobs![t]! - 1),
  });
}

/** Converts YAML arguments to our names. */
export function camelCased(args: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(args).map(([name, value]) => [
      name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()),
      value,
    ]),
  );
}
