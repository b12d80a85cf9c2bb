import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { manualClock } from '@trinity-rft/testing';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { withStudio } from './studio-beside.js';

const { argv } = process;
let folder: string;
let said: string;
const write = (text: string): void => void (said += text);
const terminal = { isTTY: false, columns: () => 80, write };
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'trinity-beside-'));
  said = '';
});
afterEach(() => {
  process.argv = argv;
  rmSync(folder, { recursive: true });
});

/** Takes the place of the studio, in a process of its own that ends with the run by default. */
function studioIs(text: string, atEnd = 'process.exit()'): void {
  const script = path.join(folder, 'studio.mjs');
  writeFileSync(script, `process.on('disconnect', () => ${atEnd});\n${text}`);
  process.argv = [argv[0] ?? '', script];
}

it('ends with the run if its process was killed before', async () => {
  studioIs('console.log(`Open http://studio/${process.pid}`); setInterval(() => {}, 1000);');
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

it('is not waited for longer than half a minute, and shows its address when it has one', async () => {
  const ready = path.join(folder, 'ready');
  studioIs(`
    import { existsSync } from 'node:fs';
    const poll = setInterval(() => {
      if (!existsSync(${JSON.stringify(ready)})) return;
      clearInterval(poll);
      console.log('Open http://studio/late');
      setInterval(() => {}, 1000);
    }, 1);`);
  const clock = manualClock();
  const run = withStudio(
    folder,
    terminal,
    async () => {
      expect(said).toContain('has not started within 30 s; the run begins');
      writeFileSync(ready, '');
      while (!said.includes('run ends: http://studio/late')) await setTimeout(1);
      return 'done';
    },
    clock,
  );
  // The waits for the first line about the wait, and for the deadline.
  while (clock.sleeping < 2) await setTimeout(1);
  await clock.advance(30_000);
  expect(await run).toBe('done');
  expect(said).not.toContain('did not start');
});

it('writes below the progress of the run on a terminal', async () => {
  const gone = path.join(folder, 'gone');
  studioIs(`
    import { existsSync } from 'node:fs';
    setInterval(() => existsSync(${JSON.stringify(gone)}) && process.exit(), 1);`);
  const clock = manualClock();
  const run = withStudio(
    folder,
    { ...terminal, isTTY: true },
    async () => {
      write('step 1');
      writeFileSync(gone, '');
      while (!said.includes('did not start')) await setTimeout(1);
    },
    clock,
  );
  while (clock.sleeping < 2) await setTimeout(1);
  await clock.advance(30_000);
  await run;
  expect(said).toContain('step 1\nThe studio did not start');
});

it('says nothing of a studio that ends with the run before it has started', async () => {
  studioIs('setInterval(() => {}, 1000);');
  const clock = manualClock();
  const run = withStudio(folder, terminal, async () => 'done', clock);
  while (clock.sleeping < 2) await setTimeout(1);
  await clock.advance(30_000);
  expect(await run).toBe('done');
  expect(said).not.toContain('did not start');
});

it('ends at Ctrl-C while it waits for open pages, with the result of the run', async () => {
  studioIs('console.log("Open http://studio/slow"); setInterval(() => {}, 1000);', '0');
  const listeners = process.listenerCount('SIGINT');
  const run = withStudio(folder, terminal, async () => 'done', manualClock());
  while (process.listenerCount('SIGINT') === listeners) await setTimeout(1);
  process.emit('SIGINT', 'SIGINT');
  expect(await run).toBe('done');
  expect(said).toContain('SIGINT: ending the studio.');
  expect(process.listenerCount('SIGINT')).toBe(listeners);
});
