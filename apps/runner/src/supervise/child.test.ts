import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { systemClock } from '@trinity-rft/core';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { restartWithServerFlags, serverFlags } from '../shared/server-flags.js';
import { startChild, type ChildEnd, type ChildOptions } from './child.js';
import { superviseRun } from './supervise-run.js';

let folder = '';
const { argv, execArgv } = process;
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'trinity-child-'));
});
afterEach(() => {
  vi.restoreAllMocks();
  Object.assign(process, { argv, execArgv });
  rmSync(folder, { recursive: true });
});

/** Makes a script the command. */
function setCommand(text: string): void {
  const script = path.join(folder, 'script.mjs');
  writeFileSync(script, text);
  Object.assign(process, { argv: [argv[0], script] });
}

function everyRunLasts(ms: number): void {
  let now = 0;
  vi.spyOn(Date, 'now').mockImplementation(() => (now += ms));
  vi.spyOn(systemClock, 'sleep').mockResolvedValue();
}

/** Starts a script instead of the command, and returns how it ended. */
function endOf(text: string, options: Partial<ChildOptions> = {}): Promise<ChildEnd> {
  setCommand(text);
  const usual = { name: 'training', args: [], isShown: false, onRestart: () => undefined };
  return startChild({ ...usual, ...options }).ended;
}

it('does not inherit the flags of a server, because it computes', async () => {
  Object.assign(process, { execArgv: ['--no-deprecation', ...serverFlags] });
  restartWithServerFlags();
  const text = 'console.log(process.execArgv.join(" "));';
  expect(await endOf(text)).toMatchObject({ exitCode: 0, output: '--no-deprecation' });
  const forked = path.join(folder, 'forked.mjs');
  writeFileSync(forked, 'process.send(process.execArgv);');
  expect(await once(fork(forked), 'message')).toEqual([['--no-deprecation'], undefined]);
});

it('has ended when its process has, whatever programs that it started write to', async () => {
  const { exitCode, output } = await endOf(
    `import { spawn } from 'node:child_process';
    const options = { stdio: ['ignore', 'inherit', 'inherit'], detached: true };
    const { pid } = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], options);
    console.log(pid);
    process.exit(0);`,
  );
  expect(process.kill(Number(output), 'SIGKILL')).toBe(true);
  expect(exitCode).toBe(0);
});

it('is not restarted when this would not help', async () => {
  const restarts: string[] = [];
  const end = await endOf('console.error("no"); process.exit(1);', {
    mayHelp: () => Promise.resolve(restarts.length === 0),
    onRestart: (message) => void restarts.push(message),
  });
  expect(end).toEqual({
    ...{ name: 'training', exitCode: 1, output: 'no' },
    reason: 'ended with exit code 1',
  });
  expect(restarts).toEqual(['training ended with exit code 1; it starts again in 1 s.']);
});

it.each([
  ['five times if it ends within a minute', 59_000, () => 0, 5],
  ['20 times after it last advanced', 61_000, (count: number) => Math.min(count, 3), 3 + 20],
])('is restarted %s', async (_name, ranMs, progress, most) => {
  everyRunLasts(ranMs);
  let restarts = 0;
  const end = await endOf('process.exit(1);', {
    progress: () => progress(restarts),
    onRestart: () => void restarts++,
  });
  expect([end.exitCode, restarts]).toEqual([1, most]);
});

it('does not advance if it is a trainer and only explorers take steps', async () => {
  const metricsFile = path.join(folder, 'metrics.jsonl');
  const lines = (['trainer', 'explorer'] as const).map((role) => ({ role, step: 1, metrics: {} }));
  writeFileSync(metricsFile, lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
  setCommand(`
    import { appendFileSync, readFileSync } from 'node:fs';
    const file = ${JSON.stringify(metricsFile)};
    if (process.argv.includes('explore')) {
      process.on('disconnect', () => process.exit(0));
      setInterval(() => {}, 1000);
    } else {
      const step = readFileSync(file, 'utf8').split('\\n').length;
      appendFileSync(file, JSON.stringify({ role: 'explorer', step, metrics: {} }) + '\\n');
      process.exit(step > 30 ? 0 : 1);
    }`);
  everyRunLasts(61_000);
  const written: string[] = [];
  const options = { configPath: 'run.yaml', runName: 'run', plugin: [], pluginDir: [] };
  const exitCode = await superviseRun({ ...options, explorers: 1, metricsFile }, {
    write: (text: string) => void written.push(text),
  } as unknown as Parameters<typeof superviseRun>[1]);
  const restarts = written.filter((text) => text.startsWith('trainer ended'));
  expect([exitCode, restarts.length]).toEqual([1, 20]);
});
