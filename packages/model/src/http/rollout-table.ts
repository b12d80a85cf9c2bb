/** Finds open rollouts by the secret key of a request, and checks the path of the request. */
import { ModelError, type Clock, InvariantError } from '@trinity-rft/core';
import type { AnswerHandler } from '../protocols/shared/answer/answer.js';
import { digestOf, keysOf, newKey } from './keys.js';
import type { Refusals } from './refusals.js';

export interface OpenRollout {
  /** Id of the rollout. */
  readonly rollout: string;
  readonly handler: AnswerHandler;
  /** True if the handler answers `GET /metrics` requests that carry the rollout's key. */
  readonly ownMetrics?: boolean;
}

export interface RolloutTable {
  readonly size: number;
  /** Returns true if the key belongs to a rollout whose handler answers `GET /metrics`. */
  ownsMetrics(key: string): boolean;
  /**
   * Adds a rollout.
   * @param key key of the rollout; if absent, a random key is created
   * @throws InvariantError if the rollout is already open, if its id is not valid in a path, or if
   * the key belongs to another rollout
   */
  open(rollout: OpenRollout, key?: string): { readonly apiKey: string; readonly close: () => void };
  /**
   * Returns the open rollout to which the key of a request belongs.
   * @throws ModelError 401 without a valid key, 409 if the rollout has ended
   */
  find(request: Request): OpenRollout;
}

export interface RolloutTableOptions {
  readonly clock: Pick<Clock, 'now'>;
  /**
   * Milliseconds for which the table remembers an ended rollout. It remembers at most `maxClosed`
   * of them.
   */
  readonly closedForMs: number;
  readonly maxClosed: number;
  readonly refusals: Refusals;
}

export function createRolloutTable(options: RolloutTableOptions): RolloutTable {
  const { refusals } = options;
  const byDigest = new Map<string, OpenRollout>();
  const ids = new Set<string>();
  const closed = createClosedRollouts(options);
  return {
    get size() {
      return byDigest.size;
    },
    ownsMetrics: (key) => byDigest.get(digestOf(key))?.ownMetrics ?? false,
    open: (opened, apiKey = newKey('rk')) => {
      const { rollout } = opened;
      const digest = digestOf(apiKey);
      assertValidId(rollout);
      if (ids.has(rollout))
        throw new InvariantError(
          `Rollout ${rollout} is mounted already. Unmount it first, or use another id.`,
        );
      if (byDigest.has(digest))
        throw new InvariantError(
          `Rollout ${rollout} has the key of another one. Use a separate key for each.`,
        );
      byDigest.set(digest, opened);
      ids.add(rollout);
      const close = (): void => {
        if (!byDigest.delete(digest)) return;
        ids.delete(rollout);
        closed.add(digest, rollout);
      };
      return { apiKey, close };
    },
    find: (request) => {
      const digest = digestOf(onlyKey(request, refusals));
      const open = byDigest.get(digest);
      const id = open?.rollout ?? closed.find(digest);
      if (id === undefined)
        throw unauthorized(isContextual(request) ? rolloutUnknown : refusals.keyUnknown);
      const idInPath = rolloutInPath(request.url);
      if (idInPath !== undefined && idInPath !== id) {
        throw unauthorized(
          `The key belongs to another rollout than the path, which names ${idInPath}. Expected baseURL and apiKey of one endpoint(). Do not reuse a client in another run.`,
        );
      }
      if (!open) throw refusals.closed(id);
      return open;
    },
  };
}

interface ClosedRollouts {
  add(digest: string, rollout: string): void;
  /**
   * Returns the id of the recently ended rollout whose key has this digest, or undefined if there
   * is none.
   */
  find(digest: string): string | undefined;
}

function createClosedRollouts({
  clock,
  closedForMs,
  maxClosed,
}: RolloutTableOptions): ClosedRollouts {
  /** Ended rollouts, keyed by the digest of their key, oldest first. */
  const closed = new Map<string, { readonly rollout: string; readonly at: number }>();
  const isExpired = (at: number): boolean => clock.now() - at >= closedForMs;
  return {
    add: (digest, rollout) => {
      closed.set(digest, { rollout, at: clock.now() });
      for (const [oldest, { at }] of closed) {
        if (closed.size <= maxClosed && !isExpired(at)) break;
        closed.delete(oldest);
      }
    },
    find: (digest) => {
      const found = closed.get(digest);
      return found && !isExpired(found.at) ? found.rollout : undefined;
    },
  };
}

function onlyKey(request: Request, { keyMissing }: Refusals): string {
  const [key, second] = keysOf(request);
  if (key === undefined) throw unauthorized(isContextual(request) ? rolloutUnknown : keyMissing);
  if (second === undefined) return key;
  throw unauthorized(
    'The request has two different keys. Expected one. Send it in Authorization or in x-api-key; or, where those hold a key of the client, in x-rollout-key or in the address.',
  );
}

/** Returns the id in the first `/r/<rollout>` of a path, wherever it occurs. */
function rolloutInPath(url: string): string | undefined {
  return /^[a-z]+:\/\/[^/?#]*(?:\/[^?#]*?)?\/r\/([^/?#]+)/i.exec(url)?.[1];
}

function assertValidId(rollout: string): void {
  if (/^[\w-]+$/.test(rollout)) return;
  throw new InvariantError(
    `A rollout cannot be mounted as ${JSON.stringify(rollout)}. Use letters, digits, "-" and "_".`,
  );
}

/** Path of the base URL for clients that are created outside of a rollout. See `rolloutContext`. */
export const contextPath = '/rollout-context/v1';

const isContextual = ({ url }: Request): boolean => url.includes(contextPath);

const rolloutUnknown =
  'The request came over a socket, where the server cannot know which rollout it belongs to. Expected the fetch of rolloutContext(). Install it before the client is created, or create clients from model.endpoint().';
export function unauthorized(message: string): ModelError {
  return new ModelError(message, { status: 401, code: 'invalid_api_key' });
}
