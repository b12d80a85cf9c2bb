/** Secret keys: random, stored as digests. */
import { createHmac, hash, randomBytes, timingSafeEqual } from 'node:crypto';

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
 * differ. `x-rollout-key` comes before both, for programs that fill them with a key of their own.
 */
export function keysOf({ headers }: Request): readonly string[] {
  const rollout = headers.get('x-rollout-key')?.trim() || undefined;
  if (rollout !== undefined) return [rollout];
  const bearer = /^bearer +(\S+)$/i.exec(headers.get('authorization')?.trim() ?? '')?.[1];
  const other = headers.get('x-api-key')?.trim() || undefined;
  return [...new Set([bearer, other])].filter((key) => key !== undefined);
}

/** Keys that carry text which only their signer can have put there. */
export interface SignedKeys {
  sign(text: string): string;
  /** The text of a key that was signed here. */
  read(key: string): string | undefined;
}

export function createSignedKeys(): SignedKeys {
  const secret = randomBytes(32);
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
