import { expect, it } from 'vitest';
import { readBytes } from './body.js';

it.each(['abc', '2', undefined])(
  'refuses a body over the limit, with content-length %s',
  async (length) => {
    const headers: Record<string, string> =
      length === undefined ? {} : { 'content-length': length };
    const request = new Request('http://a/', { method: 'POST', headers, body: 'more than 4' });
    await expect(readBytes(request, { maxBytes: 4 })).rejects.toMatchObject({ status: 413 });
  },
);
