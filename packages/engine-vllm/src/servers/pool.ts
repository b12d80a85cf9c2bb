/**
 * Groups several servers: chooses a server for each call, retries on others, and takes failing
 * servers out of service.
 */
import {
  describeError,
  ModelError,
  type Clock,
  type Logger,
  CancelledError,
  EngineError,
  SyncError,
} from '@trinity-rft/core';
import { beginWait, untilAborted, waitingFor } from '@trinity-rft/core/support';
import { ServerFault } from '../wire/fault.js';
import { createAffinity } from './affinity.js';
import type { Replica } from './replica.js';
import type { InUse, Weights } from './weights.js';

export interface PoolOptions {
  readonly replicas: readonly Replica[];
  readonly started: Weights;
  /**
   * Token ids, at least 2. If weights have no probe, all servers score these tokens, and their
   * log-probabilities are compared.
   */
  readonly text: Int32Array;
  readonly tolerance: number;
  /** Timeout of one call in ms, including waiting times and retries. */
  readonly timeoutMs: number;
  readonly clock: Clock;
  readonly logger: Logger;
}

type Work<T> = (replica: Replica, use: InUse, signal: AbortSignal) => Promise<T>;

export interface Pool {
  readonly weights: Weights;
  /**
   * Executes `work` on the server that is most suitable for `prompt`. If that server fails,
   * executes it on another one.
   */
  run<T>(prompt: Int32Array, work: Work<T>, signal?: AbortSignal): Promise<T>;
  /**
   * Delivers `weights` to all servers in service, or to all servers if none is in service. Verifies
   * each delivery by comparing the server's log-probabilities for a fixed token sequence. A server
   * that fails is taken out of service until it uses the pool's weights.
   * @throws SyncError if no delivery succeeds; the pool then keeps its previous weights
   */
  deliver(weights: Weights): Promise<void>;
  /**
   * Aborts calls and deliveries. Resolves when no delivery is in progress any longer, because an
   * unfinished one could leave a server paused.
   */
  close(): Promise<void>;
}

/**
 * Maximum number of calls that the server with the cached prefix may have in progress beyond the
 * least loaded server. If it has more, the least loaded server is chosen.
 */
const preferredLead = 4;
const mostBroken = 3;
const busyMs = 500;
const deliveryPatienceMs = 30 * 60_000;
/**
 * Maximum time to wait for a response from /health, in milliseconds. Needed because a connection
 * can stay open after the server has died.
 */
const healthMs = 15_000;
const returnAfterMs = { first: 500, longest: 15_000 };

export function createPool(options: PoolOptions): Pool {
  const { replicas, text, tolerance, timeoutMs, clock, logger } = options;
  const affinity = createAffinity<Replica>();
  const closing = new AbortController();
  let weights = options.started;
  let expected: ArrayLike<number> | undefined;
  let moving = Promise.resolve();
  /**
   * Number of calls that wait until a server is available. The outage is logged once for all of
   * them; `endOutage` ends it.
   */
  let waiting = 0;
  let endOutage = (): void => undefined;
  let changed = Promise.withResolvers<void>();

  const notify = (): void => {
    changed.resolve();
    changed = Promise.withResolvers();
  };
  const score = async (replica: Replica, signal: AbortSignal): Promise<Float32Array> => {
    const { tokens, promptLength } = weights.probe ?? { tokens: text, promptLength: 1 };
    const row = { tokens: Int32Array.from(tokens), promptLength, temperature: 1 };
    const use = replica.weights.begin();
    try {
      return (await replica.server.score(use.model, row, signal)).logprobs;
    } catch (error) {
      if (!isClosed(error)) throw error;
    } finally {
      use.end();
    }
    return score(replica, signal);
  };
  /**
   * Checks that a server's /health endpoint responds.
   * @throws ServerFault if it does not
   */
  const assertAnswers = async ({ server }: Replica, signal: AbortSignal): Promise<void> => {
    const silent = new AbortController();
    const cancel = clock.after(healthMs, () => silent.abort(unanswered(server.url)));
    try {
      await server.health(AbortSignal.any([signal, silent.signal]));
    } finally {
      cancel();
    }
  };
  /**
   * Delivers the pool's weights to a server, verifies that the server uses them, and puts it into
   * service.
   */
  const bring = async (replica: Replica, signal: AbortSignal): Promise<void> => {
    await replica.weights.deliver(weights, signal);
    await compare(replica, signal);
    if (replica.problem === undefined) return;
    replica.bringBack();
    notify();
  };
  const compare = async (replica: Replica, signal: AbortSignal): Promise<void> => {
    const found = await score(replica, signal);
    expected ??= found;
    const difference = meanDifference(found, expected);
    if (difference <= tolerance) return;
    const other = weights.probe ? 'trainer' : 'other servers';
    throw new ServerFault(
      'lost',
      `with the weights of version ${weights.version}, it scores a text differently from the ${other}, by ${difference} nats on average (at most ${tolerance} is allowed)`,
    );
  };
  /**
   * Verifies the server's weights again after it closed a connection, because it may have restarted
   * with its initial weights. Takes it out of service if they differ.
   */
  const checkAgain = async (replica: Replica, signal: AbortSignal): Promise<void> => {
    if (weights === options.started) return;
    try {
      await exclusively(() => compare(replica, signal));
    } catch (error) {
      if (!signal.aborted) leaveOut(replica, error);
    }
  };
  const leaveOut = (replica: Replica, error: unknown): void => {
    if (replica.problem !== undefined || closing.signal.aborted) return;
    replica.takeOut(describeError(error));
    affinity.forget(replica);
    void bringBackLater(replica);
  };
  const bringBackLater = async (replica: Replica): Promise<void> => {
    let delay = returnAfterMs.first;
    while (!closing.signal.aborted && replica.problem !== undefined) {
      await clock.sleep(delay, closing.signal).catch(() => undefined);
      delay = Math.min(delay * 2, returnAfterMs.longest);
      try {
        const patience = AbortSignal.any([closing.signal, AbortSignal.timeout(deliveryPatienceMs)]);
        await assertAnswers(replica, patience);
        await exclusively(async () => {
          if (replica.problem !== undefined) await bring(replica, patience);
        });
      } catch (error) {
        logger.debug(`${replica.server.url} cannot be used yet: ${describeError(error)}`);
      }
    }
  };
  /** Executes functions that deliver or verify weights, one at a time. */
  const exclusively = (work: () => Promise<void>): Promise<void> => {
    const result = moving.then(work);
    moving = result.catch(() => undefined);
    return result;
  };
  const freeOnes = (): readonly Replica[] =>
    replicas.filter(({ problem, busyForMs }) => problem === undefined && busyForMs === 0);
  const choose = (prompt: Int32Array, avoid: ReadonlySet<Replica>): Replica | undefined => {
    const idle = freeOnes();
    const others = idle.filter((replica) => !avoid.has(replica));
    const free = others.length > 0 ? others : idle;
    const [idlest] = free.toSorted((a, b) => a.load - b.load);
    const seen = affinity.find(prompt);
    const takes = seen && free.includes(seen) && seen.load <= (idlest?.load ?? 0) + preferredLead;
    return takes ? seen : idlest;
  };
  const untilChange = async (signal: AbortSignal): Promise<void> => {
    const busy = replicas.filter(({ problem }) => problem === undefined);
    const soonest = Math.min(returnAfterMs.longest, ...busy.map(({ busyForMs }) => busyForMs));
    const woken = new AbortController();
    await Promise.race([
      changed.promise,
      clock.sleep(Math.max(soonest, 1), AbortSignal.any([signal, woken.signal])),
    ]).finally(() => woken.abort());
  };
  const whenOneIsFree = async (signal: AbortSignal): Promise<void> => {
    if (waiting++ === 0)
      endOutage = beginWait(options, `a ${nameOf(replicas)} server that works`, problems);
    try {
      while (freeOnes().length === 0) await untilChange(signal);
    } finally {
      if (--waiting === 0) endOutage();
    }
  };
  const problems = (): string =>
    replicas.map(({ server, problem }) => `${server.url} ${problem ?? 'asks to wait'}`).join('; ');

  /** Servers that have rejected the API key. The log has one line for each. */
  const lockedOut = new Set<Replica>();
  const attempt = async <T>(prompt: Int32Array, work: Work<T>, signal: AbortSignal): Promise<T> => {
    const broken = new Set<Replica>();
    for (let failures = 0; ;) {
      signal.throwIfAborted();
      const replica = choose(prompt, broken);
      if (!replica) {
        await whenOneIsFree(signal);
        continue;
      }
      affinity.remember(prompt, replica);
      try {
        return await replica.run((use, ended) => work(replica, use, ended), signal);
      } catch (error) {
        if (signal.aborted || !(error instanceof ServerFault)) throw error;
        if (error.kind === 'refused') {
          if (isLockedOut(error) && !lockedOut.has(replica)) {
            lockedOut.add(replica);
            logger.error(`${error.message}. Check its key, rollout_model.api_key.`);
          }
          throw refusal(error);
        }
        if (error.kind === 'busy') replica.pauseFor(Math.max(busyMs, error.retryAfterMs));
        if (error.kind === 'closed') await untilAborted(checkAgain(replica, signal), signal);
        if (error.kind === 'lost' || error.kind === 'stale') leaveOut(replica, error);
        if (error.kind !== 'broken') continue;
        broken.add(replica);
        if (++failures >= mostBroken) throw unusable(error);
      }
    }
  };

  return {
    get weights() {
      return weights;
    },
    run: async (prompt, work, signal) => {
      if (closing.signal.aborted) throw closed();
      const deadline = new AbortController();
      const stopDeadline = clock.after(timeoutMs, () =>
        deadline.abort(new DOMException('The time is up.', 'TimeoutError')),
      );
      const signals = [closing.signal, deadline.signal, ...(signal ? [signal] : [])];
      try {
        return await attempt(prompt, work, AbortSignal.any(signals));
      } catch (error) {
        if (signal?.aborted) throw cancelled(signal);
        if (closing.signal.aborted) throw closed();
        if (deadline.signal.aborted) throw late(timeoutMs, replicas, problems());
        throw error;
      } finally {
        stopDeadline();
      }
    },
    deliver: (next) => {
      const what = `the ${nameOf(replicas)} servers to take the weights of version ${next.version}`;
      const work = async (): Promise<void> => {
        const before = { weights, expected };
        weights = next;
        expected = next.probe?.logprobs;
        const signal = AbortSignal.any([closing.signal, AbortSignal.timeout(deliveryPatienceMs)]);
        const serving = replicas.filter(({ problem }) => problem === undefined);
        const receivers = serving.length > 0 ? serving : replicas;
        const ends = await Promise.allSettled(
          receivers.map(async (replica) => {
            await assertAnswers(replica, signal);
            await bring(replica, signal);
          }),
        );
        const isDelivered = ends.some(({ status }) => status === 'fulfilled');
        if (!isDelivered) ({ weights, expected } = before);
        // A server may have loaded the weights before it failed.
        for (const [i, end] of ends.entries())
          if (end.status === 'rejected') leaveOut(receivers[i]!, end.reason);
        if (!isDelivered) throw undelivered(next, { replicas, ends });
      };
      return waitingFor(options, { what, cause: () => undefined }, () => exclusively(work));
    },
    close: () => {
      closing.abort(closed());
      for (const replica of replicas) replica.close();
      return moving;
    },
  };
}

const unanswered = (url: string): ServerFault =>
  new ServerFault('lost', `${url}/health did not answer within ${healthMs / 1000} s`);

const isClosed = (error: unknown): boolean =>
  error instanceof ServerFault && error.kind === 'closed';

const meanDifference = (a: Float32Array, b: ArrayLike<number>): number =>
  a.reduce((sum, value, i) => sum + Math.abs(value - (b[i] ?? Infinity)), 0) / a.length;

const closed = (): EngineError =>
  new EngineError('The sampler was closed.', { code: 'ENGINE_CLOSED' });

const cancelled = (signal: AbortSignal): CancelledError =>
  new CancelledError('Sampling was aborted by its caller.', {
    code: 'SAMPLE_ABORTED',
    reason: 'aborted',
    cause: signal.reason,
  });

/** Returns true if the server rejected the API key. The caller's request is then not at fault. */
const isLockedOut = ({ status }: ServerFault): boolean => status === 401 || status === 403;

function refusal(fault: ServerFault): ModelError {
  const { message, status = 400 } = fault;
  const code = 'SAMPLER_REFUSED';
  if (!isLockedOut(fault)) return new ModelError(`${message}.`, { code, status });
  const text = 'The server that samples refuses the key of this process. Its log names the server.';
  return new ModelError(text, { code, status: 503, cause: fault });
}

const unusable = ({ message }: ServerFault): EngineError =>
  new EngineError(`${message} (${mostBroken} times). Look at the log of the server.`, {
    code: 'SAMPLER_ANSWER_UNUSABLE',
  });

function late(timeoutMs: number, replicas: readonly Replica[], problems: string): ModelError {
  const serves = replicas.some(({ problem }) => problem === undefined);
  return new ModelError(
    `No ${nameOf(replicas)} server answered within ${timeoutMs / 1000} s${serves ? '' : `: ${problems}`}.`,
    { code: 'SAMPLER_TIMEOUT', status: serves ? 504 : 503, retryable: true },
  );
}

interface Attempted {
  readonly replicas: readonly Replica[];
  readonly ends: readonly PromiseSettledResult<void>[];
}

const nameOf = ([first]: readonly Replica[]): string => first?.server.dialect.name ?? 'known';

function undelivered({ version, folder }: Weights, { replicas, ends }: Attempted): SyncError {
  const needs = replicas[0]?.server.dialect.takesWeights ?? 'take weights';
  const causes = ends.flatMap((end) => (end.status === 'rejected' ? [end.reason as unknown] : []));
  return new SyncError(
    `No ${nameOf(replicas)} server took the weights of version ${version} from ${folder ?? 'its start'}: ${causes.map(describeError).join('; ')}. Every server must have the model that is trained (start one anew that another run has changed), be able to read that folder under the same path, and ${needs}.`,
    { code: 'DELIVERY_REFUSED', cause: causes[0] },
  );
}
