/** Checks the key that a server requires. */
import { hash, timingSafeEqual } from 'node:crypto';

/** Returns the key in the header `Authorization: Bearer`. */
export const bearerKey = (headers: Headers): string | undefined =>
  /^bearer +(\S+)$/i.exec(headers.get('authorization')?.trim() ?? '')?.[1];

/**
 * Returns true if the request has the key, as `Authorization: Bearer` or `x-api-key`. The
 * comparison takes the same time for every wrong key.
 */
export function hasKey({ headers }: Pick<Request, 'headers'>, key: string): boolean {
  const given = bearerKey(headers) ?? headers.get('x-api-key') ?? '';
  return given !== '' && timingSafeEqual(digest(given), digest(key));
}

const digest = (text: string): Buffer => hash('sha256', text, 'buffer');
