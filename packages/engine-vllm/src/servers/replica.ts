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
  /** Time until the server may be called again, in ms. */
  readonly busyForMs: number;
  /**
   * Makes one call. The signal passed to `work` aborts with a `ServerFault` of kind `lost` if the
   * server is taken out of service, closed, or fails its health checks during the call.
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
 * Timing of health checks, in ms. They are needed because a connection can stay open after the
 * server has died.
 */
const heartbeat = { everyMs: 5000, patienceMs: 5000, misses: 3 };

export function createReplica(options: ReplicaOptions): Replica {
  const { server, weights, hasTokenizer, clock, logger } = options;
  const calls = new Set<AbortController>();
  let problem: string | undefined;
  let busyUntil = 0;
  /** Controller that ends the health checks, which run only while calls are in progress. */
  let watching = new AbortController();

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
  /**
   * Checks the server's health repeatedly, and ends all calls when `heartbeat.misses` consecutive
   * checks have failed.
   */
  const watch = async (stop: AbortSignal): Promise<void> => {
    for (let misses = 0; misses < heartbeat.misses;) {
      await clock.sleep(heartbeat.everyMs, stop);
      const patience = new AbortController();
      const endPatience = clock.after(heartbeat.patienceMs, () => patience.abort());
      const isHealthy = await server.health(AbortSignal.any([stop, patience.signal])).then(
        () => true,
        () => false,
      );
      endPatience();
      if (stop.aborted) return;
      misses = isHealthy ? 0 : misses + 1;
    }
    endCalls(silent());
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
        watching = new AbortController();
        watch(watching.signal).catch(() => undefined);
      }
      calls.add(call);
      const use = weights.begin();
      try {
        return await work(use, AbortSignal.any([signal, call.signal]));
      } finally {
        use.end();
        calls.delete(call);
        if (calls.size === 0) watching.abort();
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
      watching.abort();
      problem = 'closed';
      endCalls(new ServerFault('lost', 'closed'));
    },
  };
}
