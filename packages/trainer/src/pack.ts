/** Experiences packed for the engine and the loss: rows one after the other, with offsets. */
import {
  assertAligned,
  BufferError,
  responseLength,
  spansOf,
  uid,
  type CallSpan,
  type Experience,
  type LossInput,
  type TokenBatch,
} from '@trinity-rft/core';

/** One row of the loss: a model call. */
export interface PackedCall {
  readonly experience: Experience;
  readonly span: CallSpan;
}

/**
 * The engine reads one row per experience; the loss sees one row per model call. An experience that holds several calls therefore
 * trains exactly as its calls would one by one, whatever the loss does with rows: the context between calls is not in its input.
 */
export interface PackedBatch {
  readonly tokens: TokenBatch;
  /** Rows of the loss. */
  readonly calls: readonly PackedCall[];
  /** Everything of {@link LossInput} that does not need the model. */
  readonly static: Pick<LossInput, 'offsets' | 'actionMask' | 'oldLogprobs' | 'advantages'>;
  /** Numbers of the engine's response tokens, in the layout of the loss. */
  toLoss(values: Float32Array): Float32Array;
  /** Gradients of the loss, in the layout of the engine; 0 between calls. */
  toEngine(gradients: Float32Array): Float32Array;
}

/** @throws BufferError when rollouts are needed and an experience has no advantages */
export function packBatch(experiences: readonly Experience[], options: { readonly rollouts: boolean }): PackedBatch {
  for (const experience of experiences) {
    assertAligned(experience);
    if (options.rollouts && !experience.advantages) throw missingAdvantages(experience);
  }
  const calls = experiences.flatMap((experience) => spansOf(experience).map((span): PackedCall => ({ experience, span })));
  const offsets = offsetsOf(calls.map(({ span }) => span.end - span.start));
  const total = offsets.at(-1)!;
  const actionMask = new Uint8Array(total);
  const oldLogprobs = new Float32Array(total);
  const advantages = new Float32Array(total);
  calls.forEach(({ experience, span: { start, end } }, row) => {
    actionMask.set(experience.actionMask.subarray(start, end), offsets[row]);
    oldLogprobs.set(experience.logprobs.subarray(start, end), offsets[row]);
    if (experience.advantages) advantages.set(experience.advantages.subarray(start, end), offsets[row]);
  });
  const rows = experiences.map(({ tokens, promptLength, temperature }) => ({
    tokens,
    promptLength,
    temperature: temperature > 0 ? temperature : 1,
  }));
  return { tokens: { rows }, calls, static: { offsets, actionMask, oldLogprobs, advantages }, ...layouts(experiences, calls, offsets) };
}

function layouts(
  experiences: readonly Experience[],
  calls: readonly PackedCall[],
  offsets: Int32Array,
): Pick<PackedBatch, 'toLoss' | 'toEngine'> {
  if (experiences.every(({ spans }) => spans === undefined)) return { toLoss: (values) => values, toEngine: (gradients) => gradients };
  const inEngine = offsetsOf(experiences.map(responseLength));
  const rowOf = new Map(experiences.map((experience, row) => [experience, row]));
  const starts = calls.map(({ experience, span }) => inEngine[rowOf.get(experience)!]! + span.start);
  return {
    toLoss: (values) => {
      const out = new Float32Array(offsets.at(-1)!);
      starts.forEach((start, row) => out.set(values.subarray(start, start + offsets[row + 1]! - offsets[row]!), offsets[row]));
      return out;
    },
    toEngine: (gradients) => {
      const out = new Float32Array(inEngine.at(-1)!);
      starts.forEach((start, row) => out.set(gradients.subarray(offsets[row], offsets[row + 1]), start));
      return out;
    },
  };
}

/** Where rows of these lengths begin, and the end of the last. */
function offsetsOf(lengths: readonly number[]): Int32Array {
  const offsets = new Int32Array(lengths.length + 1);
  lengths.forEach((length, row) => (offsets[row + 1] = offsets[row]! + length));
  return offsets;
}

function missingAdvantages(experience: Experience): BufferError {
  return new BufferError(
    `Experience ${uid(experience.eid)} has no advantages; the algorithm needs them. Store experiences that went through the advantage function, or train with sft.`,
    { code: 'ADVANTAGES_MISSING' },
  );
}
