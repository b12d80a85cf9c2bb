import { expect, it } from 'vitest';
import { whenSent } from './when-sent.js';

const parts = (...texts: readonly string[]): ReadableStream =>
  ReadableStream.from(texts.map((text) => new TextEncoder().encode(text)));

it('passes an answer on, and says once that it was read', async () => {
  const seen: string[] = [];
  const body = parts('a', 'b');
  const response = whenSent(
    new Response(body, { status: 201, headers: { 'x-a': '1' } }),
    () => seen.push('end'),
    (chunk) => seen.push(new TextDecoder().decode(chunk)),
  );
  expect(seen).toEqual([]);
  expect([response.status, response.headers.get('x-a')]).toEqual([201, '1']);
  expect(await response.text()).toBe('ab');
  expect(seen).toEqual(['a', 'b', 'end']);
});

it.each([
  ['has no body', new Response(null), (response: Response) => response.text()],
  [
    'is not read to its end',
    new Response(parts('a', 'b')),
    (response: Response) => response.body!.cancel(),
  ],
  [
    'fails',
    new Response(new ReadableStream({ pull: (to) => to.error(new Error('broken')) })),
    (response: Response) => response.text().catch(() => undefined),
  ],
])('says once that an answer has ended which %s', async (_, response, read) => {
  let count = 0;
  const passed = whenSent(response, () => count++);
  await read(passed);
  expect(count).toBe(1);
});

it('stops the answer of a client that disconnects, even if the callback throws', async () => {
  let [count, stopped] = [0, 0];
  const body = new ReadableStream({
    pull: (to) => to.enqueue(new Uint8Array(1)),
    cancel: () => void stopped++,
  });
  const passed = whenSent(new Response(body), () => {
    count++;
    throw new Error('failed');
  });
  await expect(passed.body!.cancel()).rejects.toThrow('failed');
  expect([count, stopped]).toEqual([1, 1]);
});
