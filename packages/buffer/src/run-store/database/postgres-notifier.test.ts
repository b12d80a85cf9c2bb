import { EventEmitter, getEventListeners } from 'node:events';
import type { Client } from 'pg';
import { expect, it, onTestFinished, vi } from 'vitest';
import { postgresNotifier } from './postgres-notifier.js';

it('keeps no listener per test query', async () => {
  const seen = vi.spyOn(AbortSignal.prototype, 'addEventListener');
  onTestFinished(() => seen.mockRestore());
  const query = vi.fn<() => Promise<object>>(async () => ({}));
  const client = Object.assign(new EventEmitter(), { query, end: async () => undefined });
  const notifier = postgresNotifier(async () => client as unknown as Client, {
    after: (_ms, callback) => {
      const timer = setImmediate(callback);
      return () => clearImmediate(timer);
    },
  });
  await expect.poll(() => query.mock.calls.length).toBeGreaterThan(50);
  const signals = new Set(seen.mock.contexts as AbortSignal[]);
  const counts = [...signals].map((signal) => getEventListeners(signal, 'abort').length);
  expect(Math.max(...counts)).toBeLessThan(3);
  await notifier.close();
});
