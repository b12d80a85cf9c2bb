/**
 * Packs experiences into concatenated rows with offsets, in the layouts of the engine and of the
 * loss.
 */
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

/** A model call, which is one row of the loss. */
export interface PackedCall {
  readonly experience: Experience;
  readonly span: CallSpan;
  /** Index of the call's first token in the loss layout. */
  readonly start: number;
  /** Index after the call's last token in the loss layout. */
  readonly end: number;
  /** Index of the call's first token among the engine's response tokens. */
  readonly engineStart: number;
}

/**
 * A batch in two layouts. In the engine layout, a row is an experience. In the loss layout, a row
 * is a model call, without the context between calls. An experience with several calls therefore
 * trains exactly like separate calls, with any loss.
 */
export interface PackedBatch {
  readonly tokens: TokenBatch;
  /** Experiences in the engine's row order. */
  readonly experiences: readonly Experience[];
  /** Model calls, in the row order of the loss. */
  readonly calls: readonly PackedCall[];
  /** The fields of {@link LossInput} that come from the experiences themselves. */
  readonly static: Pick<LossInput, 'offsets' | 'actionMask' | 'oldLogprobs' | 'advantages'>;
  /**
   * 1 for each token that is trained on and that the policy sampled: `actionMask` with 0 for
   * demonstrations. [N]
   */
  readonly sampledMask: Uint8Array;
  /** 1 for each row that is a demonstration. [B] */
  readonly expertMask: Uint8Array;
  /**
   * Reads a per-token field of every experience and returns it in the loss layout. Experiences
   * without the field get 0. [N]
   */
  column(read: (experience: Experience) => Float32Array | undefined): Float32Array;
  /** Converts values per response token from the engine layout to the loss layout. */
  toLoss(values: Float32Array): Float32Array;
  /**
   * Converts gradients from the loss layout to the engine layout, with 0 for tokens between calls.
   */
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

/** Returns a copy of a mask, with 0 for tokens of demonstrations. [N] */
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

/**
 * Returns the action masks of the given calls in the loss layout, with 0 for tokens of other calls.
 * [N]
 */
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
