/** Packs experiences into concatenated rows with offsets, for the engine and for the loss. */
import {
  type Experience,
  type LossInput,
  responseLength,
  spansOf,
  type CallSpan,
  isExpert,
} from '@trinity-rft/core';
import type { TokenBatch } from '@trinity-rft/core/engine';
import { assertAligned } from '@trinity-rft/core/internal';
import { assertComplete, type Requirements } from './requirements.js';

/** One row of the loss: a model call. */
export interface PackedCall {
  readonly experience: Experience;
  readonly span: CallSpan;
  /** Index of the call's first token in the layout of the loss. */
  readonly start: number;
  /** Index after the call's last token in the layout of the loss. */
  readonly end: number;
  /** Index of the call's first token among the engine's response tokens. */
  readonly engineStart: number;
}

/**
 * A batch in two layouts. The engine reads one row per experience, and the loss one row per model
 * call. An experience with several calls therefore trains exactly like separate calls, with any
 * loss, because the context between calls is not part of the loss input.
 */
export interface PackedBatch {
  readonly tokens: TokenBatch;
  /** Experiences in the engine's row order. */
  readonly experiences: readonly Experience[];
  /** Model calls, in the row order of the loss. */
  readonly calls: readonly PackedCall[];
  /** The part of {@link LossInput} that comes from the experiences themselves. */
  readonly static: Pick<LossInput, 'offsets' | 'actionMask' | 'oldLogprobs' | 'advantages'>;
  /**
   * 1 for tokens that are trained on and that the policy sampled: `actionMask` without the rows of
   * experts. [N]
   */
  readonly sampledMask: Uint8Array;
  /** 1 for rows that are demonstrations. [B] */
  readonly expertMask: Uint8Array;
  /**
   * Returns a per-token field of the experiences in the layout of the loss, with 0 for experiences
   * without the field. [N]
   */
  column(read: (experience: Experience) => Float32Array | undefined): Float32Array;
  /** Converts values per response token from the layout of the engine to that of the loss. */
  toLoss(values: Float32Array): Float32Array;
  /** Converts gradients of the loss to the layout of the engine, with 0 between calls. */
  toEngine(gradients: Float32Array): Float32Array;
}

/**
 * Packs experiences into a batch.
 * @throws BufferError naming an experience that lacks a required field; InvariantError naming an
 * experience whose arrays are misaligned
 */
export function packBatch(
  experiences: readonly Experience[],
  requirements: Requirements = {},
): PackedBatch {
  for (const experience of experiences) assertAligned(experience);
  assertComplete(experiences, requirements);
  const calls = callsOf(experiences);
  const total = calls.at(-1)?.end ?? 0;
  const column: PackedBatch['column'] = (read) => {
    const values = new Float32Array(total);
    for (const { experience, span, start } of calls) {
      const own = read(experience);
      if (own) values.set(own.subarray(span.start, span.end), start);
    }
    return values;
  };
  return {
    tokens: { rows: experiences.map(tokenRow) },
    experiences,
    calls,
    static: {
      offsets: Int32Array.from([0, ...calls.map(({ end }) => end)]),
      actionMask: maskOf(calls, total),
      oldLogprobs: column((experience) => experience.logprobs),
      advantages: column((experience) => experience.advantages),
    },
    sampledMask: maskOf(
      calls.filter(({ experience }) => !isExpert(experience)),
      total,
    ),
    expertMask: Uint8Array.from(calls, ({ experience }) => (isExpert(experience) ? 1 : 0)),
    column,
    ...layouts(experiences, calls),
  };
}

/** Returns a copy of the mask with 0 for the tokens of demonstrations. [N] */
export const sampledOnly = ({ sampledMask }: PackedBatch, mask: Uint8Array): Uint8Array =>
  mask.map((bit, i) => (sampledMask[i] ? bit : 0));

function callsOf(experiences: readonly Experience[]): readonly PackedCall[] {
  const calls: PackedCall[] = [];
  let lossTotal = 0;
  let engineTotal = 0;
  for (const experience of experiences) {
    for (const span of spansOf(experience)) {
      const start = lossTotal;
      lossTotal += span.end - span.start;
      const engineStart = engineTotal + span.start;
      calls.push({ experience, span, start, end: lossTotal, engineStart });
    }
    engineTotal += responseLength(experience);
  }
  return calls;
}

function tokenRow({ tokens, promptLength, temperature }: Experience): TokenBatch['rows'][number] {
  return { tokens, promptLength, temperature: temperature > 0 ? temperature : 1 };
}

/** Returns the action masks of the given calls, with 0 for tokens of other calls. [N] */
function maskOf(calls: readonly PackedCall[], total: number): Uint8Array {
  const mask = new Uint8Array(total);
  for (const { experience, span, start } of calls)
    mask.set(experience.actionMask.subarray(span.start, span.end), start);
  return mask;
}

function layouts(
  experiences: readonly Experience[],
  calls: readonly PackedCall[],
): Pick<PackedBatch, 'toLoss' | 'toEngine'> {
  if (experiences.every(({ spans }) => spans === undefined))
    return { toLoss: (values) => values, toEngine: (gradients) => gradients };
  const lossTotal = calls.at(-1)?.end ?? 0;
  const engineTotal = experiences.reduce((sum, experience) => sum + responseLength(experience), 0);
  return {
    toLoss: (values) => {
      const out = new Float32Array(lossTotal);
      for (const { start, end, engineStart } of calls)
        out.set(values.subarray(engineStart, engineStart + end - start), start);
      return out;
    },
    toEngine: (gradients) => {
      const out = new Float32Array(engineTotal);
      for (const { start, end, engineStart } of calls)
        out.set(gradients.subarray(start, end), engineStart);
      return out;
    },
  };
}
