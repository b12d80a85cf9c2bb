/** The sampler's graphs, loaded: they read prompts and continue rows with given weights. */
import { EngineError } from '@trinity-rft/core';
import { Tensor, type InferenceSession } from 'onnxruntime-node';

import type { ModelConfig } from '../model/config.js';
import { parameterCount } from '../model/parameters.js';
import { RopeFeeds } from '../model/rope.js';
import { rowStates } from '../model/row-states.js';
import { decodeGraph, prefillGraph, type DecodeVariant } from '../model/sampling-graphs.js';
import type { Feeds } from '../model/weights.js';
import { createSession } from '../runtime/session.js';
import { rowWindow, type RowWindow } from '../model/row-window.js';

export interface SamplerKernels {
  readonly config: ModelConfig;
  /** Rows that one run may have. */
  readonly window: RowWindow;
  /** Bytes that every run reads besides the cache, however few its rows. */
  readonly weightBytes: number;
  /** Reads whole prompts. @param ids [rows, length] */
  prefill(weights: Feeds, ids: Int32Array, rows: number, length: number): Promise<NewPositions>;
  /**
   * One more token for every row of `feeds` (see `decodeGraph`).
   * @param capacity positions of the cache in `feeds`
   */
  decode(
    variant: DecodeVariant,
    weights: Feeds,
    feeds: Feeds,
    capacity: number,
  ): Promise<DecodeResult>;
  close(): Promise<void>;
}

/** Keys, values and states that a run has made for each row. */
export interface NewPositions {
  /** [B, 2 L KV, S, D] */
  readonly keyValues: Float32Array;
  /** The states after the last position, each [B, ...shape]; in the order of `rowStates`. */
  readonly states: readonly Float32Array[];
}

/** One more position of every row, and its token. */
export type DecodeResult = NewPositions &
  (
    | {
        readonly kind: 'sampled';
        /** Drawn ids. [B] */
        readonly tokens: Int32Array;
        /** Their log-probabilities. [B] */
        readonly logprobs: Float32Array;
      }
    | {
        readonly kind: 'logprobs';
        /** The distributions to draw from. [B, V] */
        readonly logprobs: Float32Array;
      }
  );

export interface KernelOptions {
  /** Threads inside one operator. */
  readonly threads: number;
}

export function createSamplerKernels(config: ModelConfig, options: KernelOptions): SamplerKernels {
  const sessions = lazySessions(options.threads);
  const rope = new RopeFeeds(config);
  return {
    config,
    window: rowWindow(config, options.threads),
    weightBytes: 4 * parameterCount(config),
    prefill: async (weights, ids, rows, length) => {
      const session = await sessions.get('prefill', () => prefillGraph(config));
      const prompts = new Tensor('int32', ids, [rows, length]);
      const out = await run(session, { ...weights, ...rope.feeds(length), ids: prompts });
      return newPositions(config, out);
    },
    decode: async (variant, weights, feeds, capacity) => {
      const session = await sessions.get(variant, () => decodeGraph(config, { variant }));
      const out = await run(session, { ...weights, ...rope.feeds(capacity), ...feeds });
      return decodeResult(config, variant, out);
    },
    close: () => sessions.close(),
  };
}

/** Sessions by name, loaded when they are first needed. */
export function lazySessions(threads: number) {
  const sessions = new Map<string, Promise<InferenceSession>>();
  return {
    get: (name: string, graph: () => Uint8Array): Promise<InferenceSession> => {
      const session = sessions.get(name) ?? createSession(graph(), { threads, kind: 'sample' });
      sessions.set(name, session);
      return session;
    },
    close: async () => {
      for (const session of sessions.values()) await (await session).release();
    },
  };
}

/** @param kind prefix of the outputs' names */
export function newPositions(
  config: ModelConfig,
  out: InferenceSession.OnnxValueMapType,
  kind: 'new' | 'sequence' = 'new',
): NewPositions {
  return {
    keyValues: floats(out, `${kind}_kv`),
    states: rowStates(config).map(({ name }) => floats(out, `${kind}_${name}`)),
  };
}

export function decodeResult(
  config: ModelConfig,
  kind: DecodeVariant,
  out: InferenceSession.OnnxValueMapType,
): DecodeResult {
  const read = newPositions(config, out);
  if (kind === 'logprobs') return { kind, ...read, logprobs: floats(out, 'logprobs') };
  const tokens = out['token']?.data as Int32Array;
  return { kind, ...read, tokens, logprobs: floats(out, 'logprob') };
}

export const floats = (out: InferenceSession.OnnxValueMapType, name: string): Float32Array =>
  out[name]?.data as Float32Array;

export async function run(
  session: InferenceSession,
  feeds: Feeds,
): Promise<InferenceSession.OnnxValueMapType> {
  try {
    return await session.run(feeds);
  } catch (cause) {
    throw new EngineError(
      'ONNX Runtime failed while sampling; the machine may be out of memory: lower max_batch_size ' +
        'or max_model_len.',
      { code: 'ENGINE_RUN', cause },
    );
  }
}
