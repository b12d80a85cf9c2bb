/**
 * Pool of an engine's samplers: one in the trainer's thread, and the others in threads of their
 * own. A request gives the same result on every sampler.
 */
import { MessageChannel, type MessagePort } from 'node:worker_threads';

import type { Metrics } from '@trinity-rft/core';
import type {
  SampledSequence,
  SamplingOptions,
  TokenListener,
  TokenRow,
  WeightSource,
} from '@trinity-rft/core/engine';
import type { Link } from '@trinity-rft/core/worker-link';

import type { DrawnToken, EngineMethods, SampleCall } from '../protocol/engine-calls.js';
import { packBatch, transferables, unpackSequences } from '../protocol/packing.js';

interface PooledSampler {
  readonly link: Link<EngineMethods>;
  /** Number of requested sequences that are not yet finished. */
  pending: number;
}

export interface SamplerThreadsOptions {
  /**
   * Number of additional samplers. Their threads start with the first request or change of weights.
   */
  readonly others: number;
  readonly start: () => Link<EngineMethods>;
}

export class SamplerPool {
  readonly #first: PooledSampler;
  readonly #others: PooledSampler[] = [];
  readonly #options: SamplerThreadsOptions;
  #started = false;

  constructor(first: Link<EngineMethods>, options: SamplerThreadsOptions) {
    this.#first = { link: first, pending: 0 };
    this.#options = options;
  }

  /**
   * Divides the `n` choices of a request among the samplers, starting with the least busy one. If
   * one part fails, aborts `abort`, which stops the other parts.
   */
  async sample(
    prompt: Int32Array,
    options: SamplingOptions,
    abort: AbortController,
    onTokens?: TokenListener,
  ): Promise<readonly SampledSequence[]> {
    this.#startOthers();
    const leastBusy = this.#all.toSorted((a, b) => a.pending - b.pending);
    const results = divide(options, leastBusy.length).flatMap(({ firstChoice, own }, part) => {
      const sampler = leastBusy[part];
      const reportTokens = onTokens !== undefined;
      const call = { prompt: prompt.slice(), options: own, firstChoice, reportTokens };
      return sampler ? [sampleOn(sampler, call, abort.signal, onTokens)] : [];
    });
    try {
      return (await Promise.all(results)).flat();
    } catch (error) {
      abort.abort(error);
      throw error;
    }
  }

  /**
   * Computes the log-probabilities of a row in the trainer's thread, with the weights that all
   * samplers use.
   */
  score(row: TokenRow, signal: AbortSignal): Promise<Float32Array> {
    const call = { batch: packBatch({ rows: [row] }) };
    return this.#first.link.call('score', call, { signal, transfer: transferables(call) });
  }

  /**
   * Switches all samplers to the same weights. The switch is queued on all samplers at once, so
   * that it takes effect between the same requests on each of them.
   */
  async adopt(source: WeightSource, version: number): Promise<void> {
    this.#startOthers();
    // Rejects at once if a thread has died: others may wait for its weights without end.
    await Promise.all(this.#adoptFromFirst(source, version));
  }

  /**
   * Returns the metrics of the trainer's thread. `perf/sampled_tokens` is the sum over all
   * samplers.
   */
  async stats(): Promise<Metrics> {
    const [first, ...others] = await Promise.all([
      this.#first.link.call('stats'),
      ...this.#others.map(({ link }) => link.call('stats')),
    ]);
    const sampled = [first, ...others].reduce(
      (sum, metrics) => sum + (metrics['perf/sampled_tokens'] ?? 0),
      0,
    );
    return { ...first, 'perf/sampled_tokens': sampled };
  }

  /** Closes the links to all samplers. See `Link.close` for the parameters. */
  async close(pending: Error, later: Error): Promise<void> {
    this.#started = true;
    await Promise.all(this.#all.map(({ link }) => link.close(pending, later)));
  }

  get #all(): readonly PooledSampler[] {
    return [this.#first, ...this.#others];
  }

  /** Starts the other samplers and gives them the current weights of the first sampler. */
  #startOthers(): void {
    if (this.#started) return;
    this.#started = true;
    const { others, start } = this.#options;
    for (let i = 0; i < others; i++) this.#others.push({ link: start(), pending: 0 });
    // Errors are ignored here: if the transfer fails, every later call fails with the reason.
    for (const call of this.#adoptFromFirst({ kind: 'initial' }, -1)) call.catch(() => undefined);
  }

  /**
   * Switches all samplers to the weights of `source`. The first sampler's thread sends them to the
   * other threads, after reading them if it does not hold them yet.
   */
  #adoptFromFirst(
    source: WeightSource | { readonly kind: 'initial' },
    version: number,
  ): Promise<void>[] {
    const copyTo: MessagePort[] = [];
    const calls = this.#others.map(({ link }) => {
      const { port1, port2: port } = new MessageChannel();
      copyTo.push(port1);
      const call = { source: { kind: 'sent', port }, version, copyTo: [] } as const;
      return link.call('adopt', call, { transfer: [port] });
    });
    const call = { source, version, copyTo };
    return [this.#first.link.call('adopt', call, { transfer: copyTo }), ...calls];
  }
}

interface RequestPart {
  readonly firstChoice: number;
  readonly own: SamplingOptions;
}

/** Divides the `n` choices of a request into at most `max` parts of nearly equal size. */
function divide(options: SamplingOptions, max: number): readonly RequestPart[] {
  const { n = 1 } = options;
  // An invalid number of choices is sent unchanged, so that the sampler rejects it.
  if (!Number.isInteger(n) || n <= 1) return [{ firstChoice: 0, own: options }];
  const share = Math.ceil(n / max);
  return Array.from({ length: Math.ceil(n / share) }, (_, part) => {
    const firstChoice = part * share;
    return { firstChoice, own: { ...options, n: Math.min(share, n - firstChoice) } };
  });
}

async function sampleOn(
  sampler: PooledSampler,
  call: SampleCall,
  signal: AbortSignal,
  onTokens: TokenListener | undefined,
): Promise<SampledSequence[]> {
  const count = call.options.n ?? 1;
  sampler.pending += count;
  try {
    const onProgress = ([choice, token]: DrawnToken): void => onTokens?.(choice, [token]);
    const options = { signal, transfer: transferables(call), onProgress };
    return unpackSequences(await sampler.link.call('sample', call, options));
  } finally {
    sampler.pending -= count;
  }
}
