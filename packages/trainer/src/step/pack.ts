/** Experiences packed for the engine and the loss: rows one after the other, with offsets. */
import {
  assertAligned,
  responseLength,
  spansOf,
  type CallSpan,
  type Experience,
  type LossInput,
  type TokenBatch,
} from '@trinity-rft/core';
import { assertComplete, isExpert, type Requirements } from './requirements.js';

/** One row of the loss: a model call. */
export interface PackedCall {
  readonly experience: Experience;
  readonly span: CallSpan;
}

/**
 * The engine reads one row per experience; the loss sees one row per model call. An experience that
 * holds several calls therefore trains exactly as its calls would one by one, whatever the loss
 * does with rows: the context between calls is not in its input.
 */
export interface PackedBatch {
  readonly tokens: TokenBatch;
  /** Rows of the loss. */
  readonly calls: readonly PackedCall[];
  /** Everything of {@link LossInput} that the experiences themselves say. */
  readonly static: Pick<LossInput, 'offsets' | 'actionMask' | 'oldLogprobs' | 'advantages'>;
  /** 1 = trained and sampled by the policy: `actionMask` without the rows of experts. [N] */
  readonly sampledMask: Uint8Array;
  /** 1 = a demonstration. [B] */
  readonly expertMask: Uint8Array;
  /**
   * A per-token field of the experiences in the layout of the loss, 0 where an experience has none.
   * [N]
   */
  column(read: (experience: Experience) => Float32Array | undefined): Float32Array;
  /** Numbers of the engine's response tokens, in the layout of the loss. */
  toLoss(values: Float32Array): Float32Array;
  /** Gradients of the loss, in the layout of the engine; 0 between calls. */
  toEngine(gradients: Float32Array): Float32Array;
}

/**
 * @throws BufferError naming an experience that lacks what is required, InvariantError naming one
 * whose arrays are not aligned
 */
export function packBatch(
  experiences: readonly Experience[],
  requirements: Requirements = {},
): PackedBatch {
  for (const experience of experiences) assertAligned(experience);
  assertComplete(experiences, requirements);
  const calls = experiences.flatMap((experience) =>
    spansOf(experience).map((span): PackedCall => ({ experience, span })),
  );
  const offsets = offsetsOf(calls.map(({ span }) => span.end - span.start));
  const total = offsets.at(-1)!;
  const actionMask = new Uint8Array(total);
  const column: PackedBatch['column'] = (read) => {
    const values = new Float32Array(total);
    calls.forEach(({ experience, span: { start, end } }, row) => {
      const own = read(experience);
      if (own) values.set(own.subarray(start, end), offsets[row]);
    });
    return values;
  };
  calls.forEach(({ experience, span: { start, end } }, row) =>
    actionMask.set(experience.actionMask.subarray(start, end), offsets[row]),
  );
  const expertMask = Uint8Array.from(calls, ({ experience }) => (isExpert(experience) ? 1 : 0));
  const sampledMask = actionMask.slice();
  expertMask.forEach(
    (expert, row) => expert && sampledMask.fill(0, offsets[row], offsets[row + 1]),
  );
  return {
    tokens: { rows: experiences.map(tokenRow) },
    calls,
    static: {
      offsets,
      actionMask,
      oldLogprobs: column((e) => e.logprobs),
      advantages: column((e) => e.advantages),
    },
    sampledMask,
    expertMask,
    column,
    ...layouts(experiences, calls, offsets),
  };
}

function tokenRow({ tokens, promptLength, temperature }: Experience): TokenBatch['rows'][number] {
  return { tokens, promptLength, temperature: temperature > 0 ? temperature : 1 };
}

function layouts(
  experiences: readonly Experience[],
  calls: readonly PackedCall[],
  offsets: Int32Array,
): Pick<PackedBatch, 'toLoss' | 'toEngine'> {
  if (experiences.every(({ spans }) => spans === undefined))
    return { toLoss: (values) => values, toEngine: (gradients) => gradients };
  const inEngine = offsetsOf(experiences.map(responseLength));
  const rowOf = new Map(experiences.map((experience, row) => [experience, row]));
  const starts = calls.map(
    ({ experience, span }) => inEngine[rowOf.get(experience)!]! + span.start,
  );
  return {
    toLoss: (values) => {
      const out = new Float32Array(offsets.at(-1)!);
      starts.forEach((start, row) =>
        out.set(values.subarray(start, start + offsets[row + 1]! - offsets[row]!), offsets[row]),
      );
      return out;
    },
    toEngine: (gradients) => {
      const out = new Float32Array(inEngine.at(-1)!);
      starts.forEach((start, row) =>
        out.set(gradients.subarray(offsets[row], offsets[row + 1]), start),
      );
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
