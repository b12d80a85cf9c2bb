/**
 * Creates and reads secret keys. Keys are random or signed, and servers store only their digests.
 */
import { createHmac, createSecretKey, hash, randomBytes, timingSafeEqual } from 'node:crypto';
import { bearerKey } from '@trinity-rft/http-server';

/** `rk_` keys give access to one rollout, `ak_` keys to the server's metrics. */
export type KeyKind = 'rk' | 'ak';

/** Creates a key of 256 random bits. */
export function newKey(kind: KeyKind): string {
  return `${kind}_${randomBytes(32).toString('base64url')}`;
}

/** Creates a rollout id for URLs: 72 random bits as letters, digits, `-` and `_`. */
export function newRolloutId(): string {
  return randomBytes(9).toString('base64url');
}

/**
 * Returns the digest of a key. Servers look up keys by digest, so that timing reveals nothing about
 * a key.
 */
export function digestOf(key: string): string {
  return hash('sha256', key, 'base64url');
}

/**
 * Returns the keys that a request carries in `x-rollout-key` and in its URL. If there are none,
 * returns the keys in `Authorization: Bearer` and `x-api-key`. Two equal keys are returned once.
 * The two standard headers have lower priority, because they may contain the client's keys for
 * other services.
 */
export function keysOf({ headers, url }: Request): readonly string[] {
  const header = (name: string) => headers.get(name)?.trim() || undefined;
  const ofRollout = differing(header('x-rollout-key'), keyInPath(url));
  if (ofRollout.length > 0) return ofRollout;
  return differing(bearerKey(headers), header('x-api-key'));
}

const differing = (...keys: readonly (string | undefined)[]): readonly string[] =>
  [...new Set(keys)].filter((key) => key !== undefined);

/** Matches the key in `/r/<rollout>/<key>/v1`. */
const keySegment = /\/(?<=\/r\/[\w-]+\/)(rk_[\w.-]+)(?=\/v1(?:[/?#]|$))/;

const keyInPath = (url: string): string | undefined => keySegment.exec(url)?.[1];

/**
 * Returns a base URL that contains the key, so that a client does not have to send the key in a
 * header. Returns undefined for a custom key that the server could not recognise in a URL.
 */
export function withKey(baseURL: string, apiKey: string): string | undefined {
  const address = baseURL.replace(/(?=\/v1$)/, () => `/${apiKey}`);
  return keyInPath(address) === apiKey ? address : undefined;
}

/** Returns a URL path without its key, for use in error messages. */
export const withoutKey = (path: string): string => path.replace(keySegment, '');

/**
 * Creates and verifies keys that consist of a payload and a signature. The signing secret is
 * random, so keys are valid only for the object that created them.
 */
export interface SignedKeys {
  sign(text: string): string;
  /** Returns the payload of a key, or undefined if the key was not signed by this object. */
  read(key: string): string | undefined;
}

export function createSignedKeys(): SignedKeys {
  // Uses a key object, because a buffer would be converted to a key object for every signature.
  const secret = createSecretKey(randomBytes(32));
  const sign = (text: string): string => {
    const mac = createHmac('sha256', secret).update(text).digest('base64url');
    return `rk_${Buffer.from(text).toString('base64url')}.${mac}`;
  };
  return {
    sign,
    read: (key) => {
      const encoded = /^rk_([\w-]+)\.[\w-]+$/.exec(key)?.[1];
      if (encoded === undefined) return undefined;
      const text = Buffer.from(encoded, 'base64url').toString();
      const [given, expected] = [Buffer.from(key), Buffer.from(sign(text))];
      return given.length === expected.length && timingSafeEqual(given, expected)
        ? text
        : undefined;
    },
  };
}
