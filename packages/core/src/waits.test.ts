import { expect, it, onTestFinished, vi } from 'vitest';
import { silentLogger, systemClock } from './runtime.js';
import { waitingFor, type WaitCause } from './waits.js';

/** The lines about a wait of `ms`. */
async function linesOf(ms: number, cause?: WaitCause): Promise<readonly string[]> {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const lines: string[] = [];
  const logger = {
    ...silentLogger,
    info: (line: string) => lines.push(`info ${line}`),
    warn: (line: string) => lines.push(line),
  };
  const { promise, resolve } = Promise.withResolvers<void>();
  const waited = waitingFor(
    { clock: systemClock, logger },
    { what: 'the bus', cause },
    () => promise,
  );
  await vi.advanceTimersByTimeAsync(ms);
  resolve();
  await waited;
  expect(vi.getTimerCount()).toBe(0);
  return lines;
}

it('says what a wait is for after five seconds, then ever more rarely, and when it is over', async () => {
  expect(await linesOf(4900)).toEqual([]);
  expect(await linesOf(12_000, () => 'it is late.')).toEqual([
    'Waiting for the bus (5 s until now): it is late.',
    'Waiting for the bus (10 s until now): it is late.',
    'Waited 12 s for the bus; the wait is over.',
  ]);
  expect(await linesOf(6000, () => Promise.reject(new Error('no')))).toContain(
    'Waiting for the bus (5 s until now): its state cannot be read now.',
  );
});

it('warns of the other side at work only when that takes half a minute', async () => {
  const lines = await linesOf(41_000, () => undefined);
  expect(lines.slice(0, 4)).toEqual([
    'info Waiting for the bus (5 s until now).',
    'info Waiting for the bus (10 s until now).',
    'info Waiting for the bus (20 s until now).',
    'Waiting for the bus (40 s until now).',
  ]);
});
