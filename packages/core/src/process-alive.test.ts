import { ChildProcess } from 'node:child_process';
import { expect, it } from 'vitest';
import { readToEnd } from './process-alive.js';

it('reads nothing from a child without pipes, which had no free file descriptors', async () => {
  const child = new ChildProcess();
  expect(child.stdio).toBeUndefined();
  await expect(readToEnd(child)).resolves.toBeUndefined();
});
