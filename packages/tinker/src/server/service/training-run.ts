/** One model that a client trains. It has its own engine, and a queue of requests. */
import { createHash } from 'node:crypto';
import type { Engine } from '@trinity-rft/core/engine';
import { lazily } from '@trinity-rft/core/support';
import { Refusal } from '../refusals/refusal.js';
import type { FutureResult, Futures } from './futures.js';

export interface RunFacts {
  readonly id: string;
  readonly sessionId: string;
  /** LoRA rank; 0 if all weights are trained. */
  readonly rank: number;
  readonly alpha: number;
  /**
   * Suffixes of the names of the modules with adapters. `all-linear` selects all linear layers
   * except the output layer.
   */
  readonly targetModules: 'all-linear' | readonly string[];
  readonly seed: number;
  readonly userMetadata: Readonly<Record<string, unknown>>;
}

/** A client's request, with the sequence number and body that identify repeated requests. */
interface RunRequest {
  /** Sequence number of the request. A repeated request has the same number. */
  readonly seqId: number | undefined;
  /**
   * Complete request body. It is compared with the body of an earlier request with the same
   * `seqId`.
   */
  readonly body: Uint8Array | string;
}

export interface TrainingRun {
  readonly facts: RunFacts;
  /** Time of the last request, in ISO 8601. */
  readonly lastRequestAt: string;
  /**
   * Queues `work` behind earlier requests.
   * @returns the request id; a repeated request gets the id of the original
   * @throws Refusal 409 if a different request had the same `seqId`
   */
  submit(request: RunRequest, work: (engine: Engine) => Promise<FutureResult>): string;
  /** Waits for the request in progress, rejects those in the queue, and frees the engine. */
  close(): Promise<void>;
}

export interface TrainingRunOptions {
  readonly facts: RunFacts;
  /** Loads the model. */
  readonly open: () => Promise<Engine>;
  readonly futures: Futures;
  /** Returns the time, in milliseconds since 1970. */
  readonly now: () => number;
}

/** Creates the queue of a model. The engine is opened at the first submitted request. */
export function createTrainingRun({ facts, open, futures, now }: TrainingRunOptions): TrainingRun {
  const known = new Map<number, { readonly digest: string; readonly requestId: string }>();
  const engine = lazily(open);
  let last: Promise<unknown> = Promise.resolve();
  let isClosed = false;
  let lastRequestAt = new Date(now()).toISOString();
  const enqueue = (work: (engine: Engine) => Promise<FutureResult>): string => {
    const done = last.then(async () => {
      if (isClosed) throw unloaded(facts.id);
      return work(await engine.get());
    });
    last = done.catch(() => undefined);
    return futures.add(done);
  };
  return {
    facts,
    get lastRequestAt() {
      return lastRequestAt;
    },
    submit: ({ seqId, body }, work) => {
      lastRequestAt = new Date(now()).toISOString();
      if (seqId === undefined) return enqueue(work);
      const digest = createHash('sha256').update(body).digest('base64url');
      const earlier = known.get(seqId);
      if (earlier?.digest === digest) return earlier.requestId;
      if (earlier !== undefined)
        throw new Refusal(
          409,
          `Another request of ${facts.id} had seq_id ${seqId}. Count on, and repeat a request only as it was.`,
        );
      const requestId = enqueue(work);
      known.set(seqId, { digest, requestId });
      return requestId;
    },
    close: async () => {
      isClosed = true;
      await last;
      await (await engine.opened())?.close();
    },
  };
}

const unloaded = (id: string): Refusal =>
  new Refusal(
    404,
    `${id} has been unloaded, by its client, because its session fell silent, or because it could not be opened. Create a model from its last saved weights.`,
  );
