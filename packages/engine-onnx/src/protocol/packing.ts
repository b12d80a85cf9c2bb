/**
 * Packs batches and sequences into a few long typed arrays, which can be transferred to another
 * thread without copies.
 */
import { MessagePort, type Transferable } from 'node:worker_threads';

import type { SampledSequence, TokenBatch, TokenLogprob } from '@trinity-rft/core/engine';

/** A batch packed into a few arrays, instead of one object per row. */
export interface PackedBatch {
  /** The tokens of all rows, one row after another. */
  readonly tokens: Int32Array;
  /** Number of tokens of each row. */
  readonly lengths: Float64Array;
  /**
   * Prompt length of each row. Prompt lengths and temperatures are float64, so that invalid numbers
   * reach the thread unchanged and are rejected there.
   */
  readonly promptLengths: Float64Array;
  readonly temperatures: Float64Array;
}

export function packBatch({ rows }: TokenBatch): PackedBatch {
  const lengths = Float64Array.from(rows, (row) => row.tokens.length);
  const tokens = new Int32Array(lengths.reduce((sum, length) => sum + length, 0));
  let at = 0;
  for (const row of rows) {
    tokens.set(row.tokens, at);
    at += row.tokens.length;
  }
  return {
    tokens,
    lengths,
    promptLengths: Float64Array.from(rows, (row) => row.promptLength),
    temperatures: Float64Array.from(rows, (row) => row.temperature),
  };
}

export function unpackBatch(packed: PackedBatch): TokenBatch {
  let at = 0;
  const rows = Array.from(packed.lengths, (length, i) => {
    const tokens = packed.tokens.subarray(at, at + length);
    at += length;
    return { tokens, promptLength: packed.promptLengths[i]!, temperature: packed.temperatures[i]! };
  });
  return { rows };
}

/** The choices of one request. */
export interface PackedSequences {
  /** The tokens of all choices, one choice after another. */
  readonly tokens: Int32Array;
  readonly logprobs: Float32Array;
  readonly choices: readonly ({ readonly length: number } & Pick<
    SampledSequence,
    'stopReason' | 'stopString'
  >)[];
  readonly policyVersion: number;
  readonly top?: PackedTop;
}

/** Alternatives for the tokens of all choices, in order. */
interface PackedTop {
  /** Number of alternatives of each token. */
  readonly counts: Uint8Array;
  readonly tokens: Int32Array;
  /** Log-probabilities in float64, as they are computed for a truncated distribution. */
  readonly logprobs: Float64Array;
}

export function packSequences(sequences: readonly SampledSequence[]): PackedSequences {
  const total = sequences.reduce((sum, sequence) => sum + sequence.tokens.length, 0);
  const tokens = new Int32Array(total);
  const logprobs = new Float32Array(total);
  let at = 0;
  for (const sequence of sequences) {
    tokens.set(sequence.tokens, at);
    logprobs.set(sequence.logprobs, at);
    at += sequence.tokens.length;
  }
  const [first] = sequences;
  return {
    tokens,
    logprobs,
    choices: sequences.map(({ tokens: { length }, stopReason, stopString }) => ({
      length,
      stopReason,
      stopString,
    })),
    policyVersion: first?.policyVersion ?? -1,
    top: first?.topLogprobs && packTop(sequences),
  };
}

function packTop(sequences: readonly SampledSequence[]): PackedTop {
  const perToken = sequences.flatMap((sequence) => sequence.topLogprobs ?? []);
  const all = perToken.flat();
  return {
    counts: Uint8Array.from(perToken, (entries) => entries.length),
    tokens: Int32Array.from(all, (entry) => entry.token),
    logprobs: Float64Array.from(all, (entry) => entry.logprob),
  };
}

export function unpackSequences(packed: PackedSequences): SampledSequence[] {
  const top = packed.top && unpackTop(packed.top);
  let at = 0;
  return packed.choices.map(({ length, ...ending }) => {
    const [start, end] = [at, (at += length)];
    return {
      tokens: packed.tokens.subarray(start, end),
      logprobs: packed.logprobs.subarray(start, end),
      ...ending,
      topLogprobs: top?.slice(start, end),
      policyVersion: packed.policyVersion,
    };
  });
}

function unpackTop({ counts, tokens, logprobs }: PackedTop): TokenLogprob[][] {
  let at = 0;
  return Array.from(counts, (count) =>
    Array.from({ length: count }, () => ({ token: tokens[at]!, logprob: logprobs[at++]! })),
  );
}

/**
 * Returns the buffers and ports in a message, which are transferred instead of copied. The sender
 * must not use the arrays of the message afterwards.
 */
export function transferables(value: unknown): Transferable[] {
  if (value instanceof MessagePort) return [value];
  if (ArrayBuffer.isView(value)) return [value.buffer as ArrayBuffer];
  if (typeof value !== 'object' || value === null) return [];
  return [...new Set(Object.values(value).flatMap(transferables))];
}
