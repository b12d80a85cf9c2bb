/**
 * The samplers of an engine: one in the thread of the trainer, the others in threads of their own.
 * What a request gets is the same in each.
 */
import { MessageChannel } from 'node:worker_threads';

import type {
  Metrics,
  SampledSequence,
  SamplingOptions,
  TokenRow,
  TrinityError,
  WeightSource,
} from '@trinity-rft/core';

import { EngineClient, type CallHandle, type EngineLink } from '../protocol/client.js';
import { packBatch, unpackSequences } from '../protocol/engine-calls.js';

interface Lane {
  readonly client: EngineClient;
  /** Sequences asked for and not answered yet. */
  open: number;
}

export class Lanes {
  readonly #lanes: Lane[];
  /** How to start each of the others, until the first use. */
  #unstarted: readonly (() => EngineLink)[];

  /**
   * @param others start the threads that only sample; they are started when something is sampled
   */
  constructor(first: EngineClient, others: readonly (() => EngineLink)[]) {
    this.#lanes = [{ client: first, open: 0 }];
    this.#unstarted = others;
  }

  /**
   * The choices of one request, shared out among the samplers, beginning with the one that has the
   * least to do.
   */
  sample(prompt: Int32Array, options: SamplingOptions): CallHandle<readonly SampledSequence[]> {
    this.#start();
    const calls: CallHandle<readonly SampledSequence[]>[] = [];
    const cancel = (error: TrinityError): void => calls.forEach((call) => call.cancel(error));
    const lanes = this.#lanes.toSorted((a, b) => a.open - b.open);
    const { n = 1 } = options;
    // A number that is not possible goes out as it is, so that it is refused.
    const parts = Number.isInteger(n) && n > 1 ? lanes.length : 1;
    const share = Math.ceil(n / parts);
    for (let first = 0, i = 0; i === 0 || first < n; first += share, i++) {
      calls.push(
        ask(
          lanes[i]!,
          prompt.slice(),
          parts > 1 ? { ...options, n: Math.min(share, n - first) } : options,
          first,
        ),
      );
    }
    const result = Promise.all(calls.map((call) => call.result)).then((parts) => parts.flat());
    result.catch(cancel);
    return { result, cancel };
  }

  /** By the thread that has the trainer's graphs, with the weights that all samplers have. */
  score(row: TokenRow): CallHandle<Float32Array> {
    return this.#lanes[0]!.client.call('score', { batch: packBatch({ rows: [row] }) });
  }

  /** All samplers take the same weights at the same place in the order of calls. */
  async adopt(source: WeightSource, version: number): Promise<void> {
    this.#start();
    const outcomes = await Promise.allSettled(
      source.kind === 'published' ? this.#spread(source, version) : this.#each(source, version),
    );
    for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason;
  }

  /** Adds up what the samplers count. */
  async stats(): Promise<Metrics> {
    const [first, ...others] = await Promise.all(
      this.#lanes.map(({ client }) => client.call('stats', {}).result),
    );
    const sampled = others.reduce(
      (sum, metrics) => sum + metrics['perf/sampled_tokens']!,
      first!['perf/sampled_tokens']!,
    );
    return { ...first, 'perf/sampled_tokens': sampled };
  }

  /** See `EngineClient.close`. */
  async close(pending: TrinityError, later: TrinityError): Promise<void> {
    this.#unstarted = [];
    await Promise.all(this.#lanes.map(({ client }) => client.close(pending, later)));
  }

  /** The others begin with the weights that the first has now. */
  #start(): void {
    if (this.#unstarted.length === 0) return;
    this.#lanes.push(
      ...this.#unstarted.map((start) => ({ client: new EngineClient(start()), open: 0 })),
    );
    this.#unstarted = [];
    // When this fails, every call fails, and says why.
    for (const call of this.#spread({ kind: 'initial' }, -1)) call.catch(() => undefined);
  }

  /** The first sampler's thread has the weights, and sends them to the others. */
  #spread(source: { readonly kind: 'initial' | 'published' }, version: number): Promise<void>[] {
    const [first, ...others] = this.#lanes;
    const channels = others.map(() => new MessageChannel());
    const copyTo = channels.map(({ port1 }) => port1);
    return [
      first!.client.call('adopt', { source, version, copyTo }).result,
      ...others.map(
        ({ client }, i) =>
          client.call('adopt', {
            source: { kind: 'sent', port: channels[i]!.port2 },
            version,
            copyTo: [],
          }).result,
      ),
    ];
  }

  #each(source: WeightSource, version: number): Promise<void>[] {
    return this.#lanes.map(
      ({ client }) => client.call('adopt', { source, version, copyTo: [] }).result,
    );
  }
}

function ask(
  lane: Lane,
  prompt: Int32Array,
  options: SamplingOptions,
  first: number,
): CallHandle<readonly SampledSequence[]> {
  const count = options.n ?? 1;
  lane.open += count;
  const call = lane.client.call('sample', { prompt, options, first });
  const result = call.result.then(unpackSequences).finally(() => (lane.open -= count));
  return { result, cancel: (error) => call.cancel(error) };
}
