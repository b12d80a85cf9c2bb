import { mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it } from 'vitest';
import { whenChanged } from './when-changed.js';

const longAgo = (secondsMore = 0): number => Date.now() / 1000 - 60 + secondsMore;

function watched(work: () => unknown) {
  const folder = mkdtempSync(path.join(tmpdir(), 'trinity-changed-'));
  const files = ['a', 'b'].map((name) => path.join(folder, name));
  const write = (place: number, text: string, at: number): void => {
    const file = files[place] ?? '';
    writeFileSync(file, text);
    utimesSync(file, at, at);
  };
  return {
    look: whenChanged(files, work),
    write,
    remove: (place: number) => rmSync(files[place] ?? ''),
    [Symbol.dispose]: () => rmSync(folder, { recursive: true }),
  };
}

it('works again when a file is written, appears or goes', async () => {
  let times = 0;
  using files = watched(() => ++times);
  expect([await files.look(), await files.look()]).toEqual([1, 1]);
  files.write(0, 'one', longAgo());
  expect([await files.look(), await files.look()]).toEqual([2, 2]);
  files.write(0, 'two', longAgo(1));
  expect([await files.look(), await files.look()]).toEqual([3, 3]);
  files.write(1, 'x', longAgo());
  expect([await files.look(), await files.look()]).toEqual([4, 4]);
  files.remove(1);
  expect([await files.look(), await files.look()]).toEqual([5, 5]);
});

it('does not trust the time of a file that was written just now', async () => {
  let times = 0;
  using files = watched(() => ++times);
  files.write(0, 'one', Date.now() / 1000);
  expect([await files.look(), await files.look()]).toEqual([1, 2]);
});

it('works again after it failed', async () => {
  let times = 0;
  using files = watched(() => {
    if (++times === 1) throw new Error('busy');
    return times;
  });
  await expect(files.look()).rejects.toThrow('busy');
  expect([await files.look(), await files.look()]).toEqual([2, 2]);
});
