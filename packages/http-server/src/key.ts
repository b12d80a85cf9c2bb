/** Checks the API key that a server requires. */
import { hash, timingSafeEqual } from 'node:crypto';
import { ConfigError } from '@trinity-rft/core';

/** Returns the API key in the header `Authorization: Bearer`, or undefined if there is none. */
export const bearerKey = (headers: Headers): string | undefined =>
  /^bearer +(\S+)$/i.exec(headers.get('authorization')?.trim() ?? '')?.[1];

/**
 * Returns a function that checks whether a request contains the API key, in `Authorization: Bearer`
 * or `x-api-key`. The comparison takes the same time for every wrong key.
 * @throws ConfigError `KEY_EMPTY` for an empty key
 */
export function keyCheck(key: string): (request: Pick<Request, 'headers'>) => boolean {
  if (key === '')
    throw new ConfigError(
      'The key of the server is empty. Expected one that cannot be guessed. Set the key, or leave it out.',
      { code: 'KEY_EMPTY' },
    );
  const expected = digest(key);
  return ({ headers }) =>
    timingSafeEqual(digest(bearerKey(headers) ?? headers.get('x-api-key') ?? ''), expected);
}

const digest = (text: string): Buffer => hash('sha256', text, 'buffer');
