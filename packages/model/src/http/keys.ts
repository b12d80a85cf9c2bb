/** Secret keys: random, stored as digests. */
import { hash, randomBytes } from 'node:crypto';

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
 * differ.
 */
export function keysOf({ headers }: Request): readonly string[] {
  const bearer = /^bearer +(\S+)$/i.exec(headers.get('authorization')?.trim() ?? '')?.[1];
  const other = headers.get('x-api-key')?.trim() || undefined;
  return [...new Set([bearer, other])].filter((key) => key !== undefined);
}
