/** Which rollout a request reaches: by its secret key first, its path second. */
import { InvariantError, ModelError, type Clock } from '@trinity-rft/core';
import type { AnswerHandler } from '../protocols/shared/answer/answer.js';
import { digestOf, keysOf, newKey } from './keys.js';

/** An open rollout. */
interface Route {
  readonly rollout: string;
  readonly handler: AnswerHandler;
  /** `GET /metrics` with the rollout's key is the handler's. */
  readonly ownMetrics?: boolean;
}

export interface RouteTable {
  readonly size: number;
  /** Whether the key opens a rollout that answers `GET /metrics` itself. */
  ownsMetrics(key: string): boolean;
  /**
   * @param key the rollout's, by default a random one
   * @throws InvariantError when the rollout is open already, its id cannot stand in a path, or the
   * key is that of another
   */
  open(route: Route, key?: string): { readonly apiKey: string; readonly close: () => void };
  /** @throws ModelError 401 without a valid key, 409 when its rollout has ended */
  find(request: Request): Route;
}

export interface RouteTableOptions {
  readonly clock: Pick<Clock, 'now'>;
  /** How long, and of how many rollouts at most, the end is remembered. */
  readonly closedForMs: number;
  readonly maxClosed: number;
}

interface Closed {
  readonly rollout: string;
  readonly at: number;
}

export function createRouteTable({ clock, closedForMs, maxClosed }: RouteTableOptions): RouteTable {
  const byDigest = new Map<string, Route>();
  const rollouts = new Set<string>();
  /** Oldest first. */
  const closed = new Map<string, Closed>();

  const remember = (digest: string, rollout: string): void => {
    const now = clock.now();
    closed.set(digest, { rollout, at: now });
    for (const [oldest, { at }] of closed) {
      if (closed.size <= maxClosed && now - at < closedForMs) break;
      closed.delete(oldest);
    }
  };

  return {
    get size() {
      return byDigest.size;
    },
    ownsMetrics: (key) => byDigest.get(digestOf(key))?.ownMetrics ?? false,
    open: (route, apiKey = newKey('rk')) => {
      const { rollout } = route;
      assertUsable(rollout, rollouts);
      const digest = digestOf(apiKey);
      if (byDigest.has(digest))
        throw new InvariantError(
          `Rollout ${rollout} has the key of another one. Give each its own.`,
        );
      byDigest.set(digest, route);
      rollouts.add(rollout);
      const close = (): void => {
        if (!byDigest.delete(digest)) return;
        rollouts.delete(rollout);
        remember(digest, rollout);
      };
      return { apiKey, close };
    },
    find: (request) => {
      const [key, second] = keysOf(request);
      if (key === undefined) throw unauthorized(isContextual(request) ? overSocket : withoutKey);
      if (second !== undefined) {
        throw unauthorized(
          'The request carries two different keys, in Authorization and in x-api-key. Expected one. Send either.',
        );
      }
      const digest = digestOf(key);
      const route = byDigest.get(digest);
      const ended = route ? undefined : closed.get(digest);
      const rollout = route?.rollout ?? ended?.rollout;
      if (rollout === undefined || (ended && clock.now() - ended.at >= closedForMs)) {
        throw unauthorized(isContextual(request) ? overSocket : unknownKey);
      }
      const named = rolloutInPath(request.url);
      if (named !== undefined && named !== rollout) {
        throw unauthorized(
          `The key is of another rollout than the path, which names ${named}. Expected baseURL and apiKey of one endpoint(). Do not keep a client from one run to the next.`,
        );
      }
      if (!route) throw rolloutClosed(rollout);
      return route;
    },
  };
}

/** `/r/<rollout>` anywhere in the path; what else is there does not matter. */
function rolloutInPath(url: string): string | undefined {
  return /^[a-z]+:\/\/[^/?#]*(?:\/[^?#]*?)?\/r\/([^/?#]+)/i.exec(url)?.[1];
}

function assertUsable(rollout: string, taken: ReadonlySet<string>): void {
  if (!/^[\w-]+$/.test(rollout)) {
    throw new InvariantError(
      `A rollout cannot be mounted as ${JSON.stringify(rollout)}. Use letters, digits, "-" and "_".`,
    );
  }
  if (taken.has(rollout))
    throw new InvariantError(
      `Rollout ${rollout} is mounted already. Unmount it first, or use another id.`,
    );
}

/** Where clients that know no rollout are pointed at, see `rolloutContext`. */
export const contextPath = '/rollout-context/v1';

const isContextual = ({ url }: Request): boolean => url.includes(contextPath);

const overSocket =
  'The request came over a socket, where it cannot be known which rollout it belongs to. Expected the fetch of rolloutContext(). Install it before the client is made, or make clients from model.endpoint().';
const withoutKey =
  'The request has no key. Expected the apiKey of model.endpoint() in Authorization: Bearer or in x-api-key. Give the client both baseURL and apiKey of one endpoint().';
const unknownKey =
  'The key is of no rollout that is open. Expected the apiKey of model.endpoint(). Make the client in the run that uses it.';

export function unauthorized(message: string): ModelError {
  return new ModelError(message, { status: 401, code: 'invalid_api_key' });
}

function rolloutClosed(rollout: string): ModelError {
  return new ModelError(
    `Rollout ${rollout} has ended; its model answers no more. Expected calls before the workflow returns, and before its deadline. Await every call of the agent, and stop on the run's signal.`,
    { status: 409, code: 'rollout_closed' },
  );
}
