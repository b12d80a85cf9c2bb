/** Secret keys: random, stored as digests. */
import { createHmac, createSecretKey, hash, randomBytes, timingSafeEqual } from 'node:crypto';

/** `rk_` opens one rollout, `ak_` the metrics of the server. */
export type KeyKind = 'rk' | 'ak';

/** 256 random bits. */
export function newKey(kind: KeyKind): string {
  return `${kind}_${randomBytes(32).toString('base64url')}`;
}

/** An id for addresses: 72 random bits as letters, digits, `-` and `_`. */
export function newRolloutId(): string {
  return randomBytes(9).toString('base64url');
}

/** Keys are looked up by digest, so the duration of a comparison reveals nothing about a key. */
export function digestOf(key: string): string {
  return hash('sha256', key, 'base64url');
}

/**
 * The keys of a request, from `Authorization: Bearer` and `x-api-key`: none, one, or two that
 * differ. `x-rollout-key` and the path come before both, for programs that fill them with a key of
 * their own.
 */
export function keysOf({ headers, url }: Request): readonly string[] {
  const header = (name: string) => headers.get(name)?.trim() || undefined;
  const ofRollout = differing(header('x-rollout-key'), keyInPath(url));
  if (ofRollout.length > 0) return ofRollout;
  const bearer = /^bearer +(\S+)$/i.exec(header('authorization') ?? '')?.[1];
  return differing(bearer, header('x-api-key'));
}

const differing = (...keys: readonly (string | undefined)[]): readonly string[] =>
  [...new Set(keys)].filter((key) => key !== undefined);

/** `/<key>/v1` */
const keySegment = /\/(rk_[\w.-]+)(?=\/v1(?:[/?#]|$))/;

const keyInPath = (url: string): string | undefined => keySegment.exec(url)?.[1];

/** The address at which the key need not be sent. */
export const withKey = (baseURL: string, apiKey: string): string =>
  baseURL.replace(/(?=\/v1$)/, `/${apiKey}`);

/** Address without its key, as messages may show it. */
export const withoutKey = (path: string): string => path.replace(keySegment, '');

/** Keys that carry text which only their signer can have put there. */
export interface SignedKeys {
  sign(text: string): string;
  /** The text of a key that was signed here. */
  read(key: string): string | undefined;
}

export function createSignedKeys(): SignedKeys {
  // As a key object, because a buffer would be made one for every signature.
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
