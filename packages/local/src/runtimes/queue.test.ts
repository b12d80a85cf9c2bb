import { CancelledError } from '@trinity-rft/core';
import { expect, it } from 'vitest';
import { createQueue } from './queue.js';

it('lends nothing to a call that is cancelled, before or while it waits', async () => {
  const queue = createQueue(['only']);
  const lent = Promise.withResolvers<void>();
  const first = queue.use(undefined, () => lent.promise);
  const stop = new AbortController();
  const waiting = queue.use(stop.signal, () => Promise.resolve());
  stop.abort();
  const late = queue.use(stop.signal, () => Promise.resolve());
  await expect(waiting).rejects.toThrow(CancelledError);
  await expect(late).rejects.toThrow(CancelledError);
  lent.resolve();
  await first;
  expect(await queue.use(undefined, (item) => Promise.resolve(item))).toBe('only');
});
