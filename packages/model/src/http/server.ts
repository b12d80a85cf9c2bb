/** The recording endpoint over HTTP: one server, with a URL and a key per rollout. */
import { type Runtime, CancelledError } from '@trinity-rft/core';
import { errorResponse, openHttpServer } from '@trinity-rft/http-server';
import type { AnswerHandler } from '../protocols/shared/answer/answer.js';
import { createCors } from './cors.js';
import { createApp, dispatch } from './dispatch.js';
import { newKey, newRolloutId, withKey } from './keys.js';
import { defaultLimits, type EndpointLimits } from './limits.js';
import { rolloutRefusals, type Refusals } from './refusals.js';
import { createRewardRoute, type ScoredRuns, type ScoreRun } from './rewards.js';
import { contextPath, createRolloutTable } from './rollout-table.js';
import { createTraffic, type Traffic } from './traffic.js';

export interface EndpointServerOptions {
  /** Address to listen on. @default "127.0.0.1" */
  readonly host?: string;
  /** Port; 0 = any free port. @default 0 */
  readonly port?: number;
  readonly runtime: Pick<Runtime, 'clock' | 'logger'>;
  readonly limits?: Partial<EndpointLimits>;
  /**
   * Origins of web pages that may call the server from a browser; `*` allows all origins. @default
   * no origins
   */
  readonly corsOrigins?: readonly string[];
  /** Error messages for callers without access. @default messages for a training run */
  readonly refusals?: Refusals;
  /**
   * If set, `GET /ready` is available. The function returns the reason why the server currently
   * accepts no calls, or undefined if it accepts calls.
   * @default `GET /ready` gives 404
   */
  readonly unready?: (() => string | undefined) | undefined;
  /**
   * Stores a reward that a client sends to `POST /r/<rollout>/v1/rewards`. Each mount selects the
   * runs that may be scored there with `MountOptions.runs`.
   * @default that path gives 404
   */
  readonly score?: ScoreRun;
  /**
   * Key with which a client may send a reward for any run to `POST /v1/rewards`, given the run's
   * id. Requires `score`.
   * @default that path gives 404
   */
  readonly rewardKey?: string | undefined;
}

export interface MountOptions {
  /** Id of the rollout, part of its URL: letters, digits, `-`, `_`. @default a random id */
  readonly rollout?: string;
  /** Receives requests whose key has been checked. Must not reject. */
  readonly handler: AnswerHandler;
  /** Key of the rollout. @default a random key */
  readonly apiKey?: string;
  /**
   * The runs for which rewards may be sent to `.../v1/rewards` with the rollout's default key, even
   * after the rollout has ended.
   * @default no runs
   */
  readonly runs?: ScoredRuns | undefined;
  /**
   * True if the handler answers `GET /metrics` requests that carry the rollout's key. If false,
   * they get 401.
   * @default false
   */
  readonly ownMetrics?: boolean;
  /** Signal that unmounts the rollout when it aborts. */
  readonly signal?: AbortSignal;
}

/** URLs and key of one mounted rollout. */
export interface EndpointMount {
  /** Base URL without the key: `http://HOST:PORT/r/<rollout>/v1`. */
  readonly baseURL: string;
  /**
   * Key of the rollout. After the rollout is unmounted, requests with the key get 409 for a while,
   * then 401.
   */
  readonly apiKey: string;
  /**
   * Base URL that contains the key: `http://HOST:PORT/r/<rollout>/<key>/v1`. It must be kept secret
   * like the key. Undefined for a custom key that is not `rk_` followed by letters, digits, `_`,
   * `.` or `-`.
   */
  readonly keyedBaseURL: string | undefined;
  /**
   * Sends a request to the mounted handler without a socket. The key is checked as for requests
   * over a socket.
   */
  readonly fetch: typeof globalThis.fetch;
  unmount(): void;
}

export interface EndpointServer {
  /** URL of the server, without a path: `http://HOST:PORT`. */
  readonly url: string;
  /**
   * Base URL for clients that are created outside of a rollout, see `rolloutContext`. Ends in
   * `/v1`. If such a client sends a request over a socket, it gets an error that explains what to
   * do.
   */
  readonly contextURL: string;
  /** Key for `GET /metrics`. */
  readonly adminKey: string;
  /**
   * Mounts a rollout.
   * @throws InvariantError if the rollout is already mounted; CancelledError if its signal has
   * aborted or the server is closed
   */
  mount(options: MountOptions): EndpointMount;
  /**
   * Ends all rollouts and waits for their calls, at most `closeTimeoutMs`. Logs a warning if calls
   * are then still in flight. Finally closes the remaining connections.
   */
  close(): Promise<void>;
}

/**
 * Opens a server, which accepts requests until `close` is called. `GET /health` and `GET /ready`
 * need no key. `GET /metrics` with `adminKey` returns the server's metrics. `POST /v1/rewards` needs
 * `rewardKey`. All other requests, under any path, need the key of a rollout. Keys that the server
 * creates cannot be guessed. Keys are never logged.
 * @throws ConfigError if the port is not available
 */
export async function openEndpointServer(options: EndpointServerOptions): Promise<EndpointServer> {
  const { host = '127.0.0.1', port = 0, runtime } = options;
  const limits = { ...defaultLimits, ...options.limits };
  const { corsOrigins = [], refusals = rolloutRefusals, score, rewardKey } = options;
  const rewards = score && createRewardRoute({ score, rewardKey, runtime });
  const table = createRolloutTable({ clock: runtime.clock, refusals, ...limits });
  const traffic = createTraffic();
  const adminKey = newKey('ak');
  const app = createApp(table, traffic, { adminKey, refusals, rewards, unready: options.unready });
  const server = await openHttpServer({
    fetch: (request, bindings) => app.fetch(request, bindings),
    refuse: errorResponse,
    host,
    port,
    limits,
    intercept: createCors(corsOrigins),
  });
  const { url } = server;
  const closers = new Set<() => void>();
  let closed = false;

  const fetch: typeof globalThis.fetch = async (input, init) => {
    const request = new Request(input, init);
    request.signal.throwIfAborted();
    const response = await (rewards?.answer(request) ?? dispatch(request, table, traffic));
    // As with the global fetch, an aborted request has no response.
    request.signal.throwIfAborted();
    return response;
  };

  return {
    url,
    contextURL: `${url}${contextPath}`,
    adminKey,
    mount: ({ rollout = newRolloutId(), handler, runs, ownMetrics = false, signal, ...given }) => {
      if (closed)
        throw new CancelledError('The endpoint is closed: nothing can be mounted on it any more.', {
          reason: 'shutdown',
        });
      if (signal?.aborted)
        throw new CancelledError('The rollout has ended before it was mounted.', {
          reason: 'aborted',
          cause: signal.reason,
        });
      const chosen = given.apiKey ?? (runs && rewards?.keyFor(rollout, runs));
      const { apiKey, close } = table.open({ rollout, handler, ownMetrics }, chosen);
      const unmount = (): void => {
        close();
        closers.delete(unmount);
        signal?.removeEventListener('abort', unmount);
      };
      closers.add(unmount);
      signal?.addEventListener('abort', unmount);
      const baseURL = `${url}/r/${rollout}/v1`;
      return { baseURL, apiKey, keyedBaseURL: withKey(baseURL, apiKey), fetch, unmount };
    },
    close: async () => {
      closed = true;
      for (const unmount of closers) unmount();
      await server.close(endOfCalls(traffic, runtime, limits.closeTimeoutMs));
    },
  };
}

/** Waits until no calls are in flight, at most for the timeout. Logs a warning if calls remain. */
async function endOfCalls(
  traffic: Traffic,
  { clock, logger }: EndpointServerOptions['runtime'],
  timeoutMs: number,
): Promise<void> {
  const timer = new AbortController();
  const deadline = clock.sleep(timeoutMs, timer.signal).catch(() => undefined);
  await Promise.race([traffic.idle(), deadline]);
  timer.abort();
  if (traffic.inFlight === 0) return;
  const rollouts = traffic.rollouts();
  logger.warn(
    `The endpoint waited ${timeoutMs / 1000} s for ${traffic.inFlight} calls of ${rollouts.length} rollouts and closed their connections. Agents should stop on their run's signal.`,
    { rollouts: rollouts.slice(0, 8) },
  );
}
