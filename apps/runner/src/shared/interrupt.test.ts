import { expect, it } from 'vitest';
import { interruptible } from './interrupt.js';

const terminal = { write: () => undefined } as unknown as Parameters<typeof interruptible>[0];

it('interrupts work whose parent process has ended before it began', async () => {
  const before = process.connected;
  for (const [connected, isAborted] of [
    [false, true],
    [true, false],
    [undefined, false],
  ] as const) {
    Object.assign(process, { connected });
    const work = ({ aborted }: AbortSignal): Promise<boolean> => Promise.resolve(aborted);
    expect(await interruptible(terminal, work)).toBe(isAborted);
  }
  Object.assign(process, { connected: before });
});
