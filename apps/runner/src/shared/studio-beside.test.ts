import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { afterEach, expect, it } from 'vitest';
import { withStudio } from './studio-beside.js';

const { argv } = process;
const folder = mkdtempSync(path.join(tmpdir(), 'trinity-beside-'));
afterEach(() => {
  process.argv = argv;
  rmSync(folder, { recursive: true });
});

it('ends with the run if its process was killed before', async () => {
  const script = path.join(folder, 'studio.mjs');
  writeFileSync(
    script,
    'console.log(`Open http://studio/${process.pid}`); setInterval(() => {}, 1000);',
  );
  process.argv = [argv[0] ?? '', script];
  let said = '';
  const write = (text: string): void => void (said += text);
  const terminal = { isTTY: false, columns: () => 80, write };
  const isAlive = (pid: number): boolean => {
    try {
      return process.kill(pid, 0);
    } catch {
      return false;
    }
  };
  const result = await withStudio(folder, terminal, async () => {
    const pid = Number(/studio\/(\d+)/.exec(said)?.[1]);
    process.kill(pid, 'SIGKILL');
    while (isAlive(pid)) await setTimeout(1);
    // The event of its end is handled.
    await setTimeout(1);
    return 'done';
  });
  expect(result).toBe('done');
});
