import { expect, it, onTestFinished, vi } from 'vitest';
import { exitingOnInterrupt, interruptible } from './interrupt.js';

const terminal = { write: () => undefined } as unknown as Parameters<typeof interruptible>[0];

// First: it finds the channel as Vitest left it.
it('leaves the channel to the parent process as it was', async () => {
  const pipes = (): number =>
    process.getActiveResourcesInfo().filter((resource) => resource === 'PipeWrap').length;
  const before = pipes();
  await interruptible(terminal, () => Promise.resolve());
  expect(pipes()).toBe(before);
});

it('interrupts work whose parent process has ended before it began', async () => {
  const { connected: before, send: sendBefore } = process;
  onTestFinished(() => void Object.assign(process, { connected: before, send: sendBefore }));
  const channel = (): boolean => true;
  for (const [connected, send, isAborted] of [
    [false, channel, true],
    [true, channel, false],
    // Without a channel to a parent process: Node, Bun.
    [undefined, undefined, false],
    [false, undefined, false],
  ] as const) {
    Object.assign(process, { connected, send });
    const work = ({ aborted }: AbortSignal): Promise<boolean> => Promise.resolve(aborted);
    expect(await interruptible(terminal, work)).toBe(isAborted);
  }
});

it('ends the process, so that it removes partial results', async () => {
  const exit = vi.spyOn(process, 'exit').mockReturnValue(undefined as never);
  const listeners = process.listenerCount('SIGINT');
  await exitingOnInterrupt(() => Promise.resolve(process.emit('SIGINT')));
  expect(exit.mock.calls).toEqual([[130]]);
  expect(process.listenerCount('SIGINT')).toBe(listeners);
  exit.mockRestore();
});
