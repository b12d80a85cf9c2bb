import { expect, it, vi } from 'vitest';
import { exitingOnInterrupt, interruptible, isOrphaned } from './interrupt.js';

const terminal = { write: () => undefined } as unknown as Parameters<typeof interruptible>[0];

// First: it finds the channel as Vitest left it.
it('leaves the channel to the parent process as it was', async () => {
  const pipes = (): number =>
    process.getActiveResourcesInfo().filter((resource) => resource === 'PipeWrap').length;
  const before = pipes();
  await interruptible(terminal, () => Promise.resolve());
  expect(pipes()).toBe(before);
});

// Not by changing `process`: Vitest would then fail to report, and report that without end.
it.each([
  [{ connected: false, send: () => true }, true],
  [{ connected: true, send: () => true }, false],
  // Without a channel to a parent process: Node, Bun.
  [{ connected: undefined, send: undefined }, false],
  [{ connected: false, send: undefined }, false],
])('knows whether the parent process has ended: %j', (channel, expected) => {
  expect(isOrphaned(channel as Parameters<typeof isOrphaned>[0])).toBe(expected);
});

it('ends the process, so that it removes partial results', async () => {
  const exit = vi.spyOn(process, 'exit').mockReturnValue(undefined as never);
  const listeners = process.listenerCount('SIGINT');
  await exitingOnInterrupt(() => Promise.resolve(process.emit('SIGINT')));
  expect(exit.mock.calls).toEqual([[130]]);
  expect(process.listenerCount('SIGINT')).toBe(listeners);
  exit.mockRestore();
});
