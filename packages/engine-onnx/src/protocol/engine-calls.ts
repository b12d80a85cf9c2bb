/**
 * Messages between the engine and its worker threads. Bulk numbers travel as typed arrays that are
 * handed over, not copied.
 */
import { MessagePort } from 'node:worker_threads';

import type {
  ErrorRecord,
  ForwardOptions,
  ForwardPass,
  Metrics,
  OptimizerOptions,
  SampledSequence,
  SamplingOptions,
  StepStats,
  TokenBatch,
  TokenLogprob,
  WeightSource,
} from '@trinity-rft/core';

import type { LoraOptions } from '../lora/plan.js';
import type { ModelConfig } from '../model/config.js';
import type { TokenBytes } from '../model/token-bytes.js';

/** What the worker of the engine is started with. */
export interface WorkerOptions {
  readonly modelPath: string;
  readonly threads: number;
  readonly reference: boolean;
  readonly memoryBudgetBytes: number;
  readonly maxBatchSize: number;
  readonly maxModelLen?: number;
  readonly tokenBytes?: TokenBytes;
  /** Adapters are trained. @default all weights are */
  readonly lora?: LoraOptions;
  /**
   * Only samples: a model of this shape, whose weights another thread of the engine sends.
   * @default reads `modelPath`
   */
  readonly samples?: ModelConfig;
}

/** What that worker says when it is ready for calls. */
export interface EngineFacts {
  readonly maxModelLen: number;
  readonly parameters: number;
  /** Numbers that a step changes. */
  readonly trained: number;
  readonly config: ModelConfig;
}

/**
 * Where a sampler gets weights from: what the engine's caller names, those it begins with, or a
 * copy that another thread sends.
 */
export type LaneSource =
  | WeightSource
  | { readonly kind: 'initial' }
  | { readonly kind: 'sent'; readonly port: MessagePort };

/** Calls by name, each with its arguments and its answer. */
export type CallTable<Names extends PropertyKey = string> = Readonly<
  Record<Names, { readonly args: object; readonly result: unknown }>
>;

/** Every call of the engine: its arguments and its answer. */
export interface Calls {
  open: { args: Record<string, never>; result: EngineFacts };
  /**
   * `first`: index of the first of its choices, when other threads sample the rest of the request.
   */
  sample: {
    args: { prompt: Int32Array; options: SamplingOptions; first: number };
    result: PackedSequences;
  };
  /** `copyTo`: who else gets a copy of these weights, see {@link LaneSource}. */
  adopt: {
    args: { source: LaneSource; version: number; copyTo: readonly MessagePort[] };
    result: undefined;
  };
  /** A batch of one row. */
  score: { args: { batch: PackedBatch }; result: Float32Array };
  forward: { args: { batch: PackedBatch; options: ForwardOptions }; result: PackedPass };
  backward: { args: PackedGradients; result: undefined };
  step: { args: OptimizerOptions; result: StepStats };
  publish: { args: { version: number }; result: undefined };
  save: { args: { directory: string; optimizer: boolean }; result: undefined };
  load: { args: { directory: string }; result: undefined };
  stats: { args: Record<string, never>; result: Metrics };
}
export type Method = keyof Calls;

export interface CallMessage {
  readonly id: number;
  readonly method: string;
  readonly args: object;
}
/** Nobody waits for call `cancel` any more. */
interface CancelMessage {
  readonly cancel: number;
}
export type ToWorker = CallMessage | CancelMessage;

export type Reply = { readonly id: number } & (
  | { readonly result: unknown }
  | { readonly error: ErrorRecord }
);
/** Answers that became ready in the same turn. */
export type FromWorker = readonly Reply[];

/** A batch without one object per row. */
export interface PackedBatch {
  /** Rows one after the other. */
  readonly tokens: Int32Array;
  /** Tokens per row; float64 so that wrong numbers arrive as they are and are refused. */
  readonly lengths: Float64Array;
  readonly promptLengths: Float64Array;
  readonly temperatures: Float64Array;
}

type PackedPass = Omit<ForwardPass, 'batch'>;

interface PackedGradients {
  readonly batch: PackedBatch;
  readonly offsets: Int32Array;
  readonly logprobs: Float32Array;
  readonly entropy?: Float32Array;
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
  /** Choices one after the other. */
  readonly tokens: Int32Array;
  readonly logprobs: Float32Array;
  readonly lengths: readonly number[];
  readonly ends: readonly Pick<SampledSequence, 'stopReason' | 'stopString'>[];
  readonly policyVersion: number;
  readonly top?: PackedTop;
}

/** Alternatives of all tokens of all choices, one after the other. */
interface PackedTop {
  /** Alternatives per token. */
  readonly counts: Uint8Array;
  readonly tokens: Int32Array;
  /** Float64: log-probabilities of a cut distribution are computed in it. */
  readonly logprobs: Float64Array;
}

export function packSequences(sequences: readonly SampledSequence[]): PackedSequences {
  const lengths = sequences.map((sequence) => sequence.tokens.length);
  const total = lengths.reduce((sum, length) => sum + length, 0);
  const tokens = new Int32Array(total);
  const logprobs = new Float32Array(total);
  let at = 0;
  for (const sequence of sequences) {
    tokens.set(sequence.tokens, at);
    logprobs.set(sequence.logprobs, at);
    at += sequence.tokens.length;
  }
  const ends = sequences.map(({ stopReason, stopString }) => ({
    stopReason,
    ...(stopString !== undefined && { stopString }),
  }));
  const hasTop = sequences[0]?.topLogprobs !== undefined;
  return {
    tokens,
    logprobs,
    lengths,
    ends,
    policyVersion: sequences[0]!.policyVersion,
    ...(hasTop && { top: packTop(sequences) }),
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
  return packed.lengths.map((length, i) => {
    const [start, end] = [at, (at += length)];
    return {
      tokens: packed.tokens.subarray(start, end),
      logprobs: packed.logprobs.subarray(start, end),
      ...packed.ends[i]!,
      ...(top && { topLogprobs: top.slice(start, end) }),
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

/** What a message can hand over instead of copying it. */
export type Handed = ArrayBuffer | MessagePort;

/**
 * The ports and the buffers of the typed arrays of a message, to hand over with it. Only for
 * messages whose arrays nobody else uses.
 */
export function buffersOf(value: unknown): Handed[] {
  if (value instanceof MessagePort) return [value];
  if (ArrayBuffer.isView(value)) return [value.buffer as ArrayBuffer];
  if (typeof value !== 'object' || value === null) return [];
  return [...new Set(Object.values(value).flatMap(buffersOf))];
}
