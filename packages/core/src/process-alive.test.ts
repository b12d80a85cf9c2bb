import { ChildProcess } from 'node:child_process';
import { expect, it, vi } from 'vitest';
import { atExit, readToEnd } from './process-alive.js';

it('reads nothing from a child without pipes, which had no free file descriptors', async () => {
  const child = new ChildProcess();
  expect(child.stdio).toBeUndefined();
  await expect(readToEnd(child)).resolves.toBeUndefined();
});

it('does all work at the exit of the process, even if some of it throws', () => {
  const work = vi.fn<() => void>(() => {
    throw new Error('EPERM');
  });
  const removals = [atExit(work), atExit(() => work())];
  process.listeners('exit').at(-1)?.(0);
  for (const remove of removals) remove();
  expect(work).toHaveBeenCalledTimes(2);
});
