/** One server of a pool, with its state, its load and its last problem. */
import type { Clock, Logger } from '@trinity-rft/core';
import { ServerFault } from '../wire/fault.js';
import type { SamplingServer } from './calls.js';
import type { InUse, WeightsOnServer } from './weights.js';

export interface Replica {
  readonly server: SamplingServer;
  readonly weights: WeightsOnServer;
  readonly hasTokenizer: boolean;
  /** Reason why the server is out of service; undefined while it is in service. */
  readonly problem: string | undefined;
  /** Number of calls in progress. */
  readonly load: number;
  /** Milliseconds until the server may be called again. */
  readonly busyForMs: number;
  /**
   * Makes one call. The signal of the call aborts with a `ServerFault` of kind `lost` if, during
   * the call, the server is taken out of service, is closed, or fails its health checks.
   */
  run<T>(work: (use: InUse, signal: AbortSignal) => Promise<T>, signal: AbortSignal): Promise<T>;
  pauseFor(ms: number): void;
  /** Takes the server out of service. Its calls in progress fail. */
  takeOut(problem: string): void;
  bringBack(): void;
  close(): void;
}

export interface ReplicaOptions {
  readonly server: SamplingServer;
  readonly weights: WeightsOnServer;
  readonly hasTokenizer: boolean;
  readonly clock: Clock;
  readonly logger: Logger;
}

const silent = (): ServerFault =>
  new ServerFault('lost', `${heartbeat.misses} times no answer to /health`);

/**
 * Timing of health checks. They are needed because a connection can stay open after the server has
 * died.
 */
const heartbeat = { everyMs: 5000, patienceMs: 5000, misses: 3 };

export function createReplica(options: ReplicaOptions): Replica {
  const { server, weights, hasTokenizer, clock, logger } = options;
  const calls = new Set<AbortController>();
  let problem: string | undefined;
  let busyUntil = 0;
  let stopBeats: (() => void) | undefined;

  const endCalls = (reason: Error): void => {
    for (const call of calls) call.abort(reason);
  };
  const takeOut = (what: string): void => {
    if (problem !== undefined) return;
    problem = what;
    logger.warn(
      `The ${server.dialect.name} server ${server.url} is left out until it can be used again: ${what}`,
    );
    endCalls(new ServerFault('lost', what));
  };
  const beat = (misses: number): void => {
    stopBeats = clock.after(heartbeat.everyMs, () => {
      const patience = new AbortController();
      stopBeats = clock.after(heartbeat.patienceMs, () => patience.abort(new Error('no answer')));
      const answered = server.health(patience.signal).then(
        () => 0,
        () => misses + 1,
      );
      void answered.then((missed) => {
        stopBeats?.();
        if (missed >= heartbeat.misses) endCalls(silent());
        else if (calls.size > 0) beat(missed);
      });
    });
  };

  return {
    server,
    weights,
    hasTokenizer,
    get problem() {
      return problem;
    },
    get load() {
      return calls.size;
    },
    get busyForMs() {
      return Math.max(0, busyUntil - clock.now());
    },
    run: async (work, signal) => {
      const call = new AbortController();
      if (calls.size === 0) {
        stopBeats?.();
        beat(0);
      }
      calls.add(call);
      const use = weights.begin();
      try {
        return await work(use, AbortSignal.any([signal, call.signal]));
      } finally {
        use.end();
        calls.delete(call);
        if (calls.size === 0) stopBeats?.();
      }
    },
    pauseFor: (ms) => {
      busyUntil = Math.max(busyUntil, clock.now() + ms);
    },
    takeOut,
    bringBack: () => {
      problem = undefined;
      busyUntil = 0;
      logger.info(`The ${server.dialect.name} server ${server.url} is used again.`);
    },
    close: () => {
      stopBeats?.();
      problem = 'closed';
      endCalls(new ServerFault('lost', 'closed'));
    },
  };
}
