/** The sampler's graphs, which read prompts and decode further tokens with given weights. */
import type { ModelConfig } from '../model/config.js';
import { wholeParameters } from '../model/parameters.js';
import { RopeFeeds } from '../model/rope.js';
import { rowStates } from '../model/row-states.js';
import { decodeGraph, prefillGraph, type DecodeVariant } from '../model/sampling-graphs.js';
import { rowWindow, type RowWindow } from '../model/row-window.js';
import type {
  DeviceArray,
  DeviceArrays,
  Feeds,
  GraphRuntime,
  NewPositions,
} from '../runtime/graph-runtime.js';
import { ints } from '../runtime/host-arrays.js';
import { lazyGraphs } from '../runtime/lazy-graphs.js';

export interface SamplerKernels {
  readonly runtime: GraphRuntime;
  readonly config: ModelConfig;
  /** Allowed numbers of rows in one graph execution. */
  readonly window: RowWindow;
  /**
   * Bytes that every execution reads in addition to the cache, regardless of the number of rows.
   */
  readonly weightBytes: number;
  /** Reads whole prompts of `length` tokens. @param ids [rows, length] */
  prefill(weights: Feeds, ids: Int32Array, length: number): Promise<NewPositions>;
  /**
   * Computes one more token, or its distribution, for every row of `feeds` (see `decodeGraph`).
   * @param capacity number of positions per row of the cache in `feeds`
   */
  decode(
    variant: DecodeVariant,
    weights: Feeds,
    feeds: Feeds,
    capacity: number,
  ): Promise<DecodeResult>;
  close(): Promise<void>;
}

/** One new position of every row, with its token or the distribution of its token. */
export type DecodeResult = NewPositions &
  (
    | {
        readonly kind: 'sampled';
        /** Drawn ids. [B] */
        readonly tokens: Int32Array;
        /** Log-probabilities of the drawn ids. [B] */
        readonly logprobs: Float32Array;
      }
    | {
        readonly kind: 'logprobs';
        /** The distributions to draw from. [B, V] */
        readonly logprobs: Float32Array;
      }
  );

/**
 * Row window for runtimes in which the result of a row never depends on other rows. A larger
 * maximum does not increase the throughput.
 */
const anyRows: RowWindow = { min: 1, max: 512 };

export function createSamplerKernels(config: ModelConfig, runtime: GraphRuntime): SamplerKernels {
  const graphs = lazyGraphs(runtime, 'sample');
  const rope = new RopeFeeds(runtime, config);
  return {
    runtime,
    config,
    window: runtime.threads ? rowWindow(config, runtime.threads.sample) : anyRows,
    weightBytes: 4 * wholeParameters(config).reduce((sum, { size }) => sum + size, 0),
    prefill: async (weights, ids, length) => {
      const graph = await graphs.get('prefill', () => prefillGraph(config));
      const prompts = ints(ids, [ids.length / length, length]);
      const out = await graph.run({ ...weights, ...rope.feeds(length), ids: prompts });
      return newPositions(config, out);
    },
    decode: async (variant, weights, feeds, capacity) => {
      const graph = await graphs.get(variant, () => decodeGraph(config, { variant }));
      const out = await graph.run({ ...weights, ...rope.feeds(capacity), ...feeds });
      return decodeResult(runtime, config, variant, out);
    },
    close: () => graphs.close(),
  };
}

/**
 * Selects the keys, values and states from the outputs of a graph.
 * @param kind prefix of the outputs' names
 */
export function newPositions(
  config: ModelConfig,
  out: DeviceArrays,
  kind: 'new' | 'sequence' = 'new',
): NewPositions {
  return {
    keyValues: out[`${kind}_kv`]!,
    states: rowStates(config).map(({ name }) => out[`${kind}_${name}`]!),
  };
}

/** Reads the drawn tokens, or the distributions, from the outputs of a graph. */
export async function decodeResult(
  runtime: GraphRuntime,
  config: ModelConfig,
  kind: DecodeVariant,
  out: DeviceArrays,
): Promise<DecodeResult> {
  const fresh = newPositions(config, out);
  const take = async (array: DeviceArray | undefined) => {
    const numbers = await runtime.read(array!);
    array!.free();
    return numbers;
  };
  if (kind === 'logprobs')
    return { kind, ...fresh, logprobs: (await take(out['logprobs'])) as Float32Array };
  const [tokens, logprobs] = await Promise.all([take(out['token']), take(out['logprob'])]);
  return { kind, ...fresh, tokens: tokens as Int32Array, logprobs: logprobs as Float32Array };
}

/** Frees new positions after they are stored. */
export function freePositions({ keyValues, states }: NewPositions): void {
  for (const array of [keyValues, ...states]) array.free();
}
