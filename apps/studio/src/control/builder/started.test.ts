import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { createStartedRuns } from './started.js';

let root: string;
let outputs: string;
beforeEach(() => {
  root = mkdtempSync(path.join(tmpdir(), 'trinity-started-'));
  outputs = path.join(root, 'outputs');
  mkdirSync(outputs);
  vi.stubEnv('TMPDIR', outputs);
  vi.stubEnv('TEMP', outputs);
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(root, { recursive: true, force: true, maxRetries: 3 });
});

/** Ends at once, or for `slow.yaml` when there is a file `end`. */
const program = `const fs = require('fs');
  if (process.argv.at(-1) === 'slow.yaml')
    setInterval(() => fs.existsSync('end') && (fs.writeFileSync('ended', ''), process.exit()), 20);`;
const command = [process.execPath, '-e', program, '--'];

it('deletes the output of old runs, also if they end after they are not listed any more', async () => {
  const runs = createStartedRuns({ command, env: process.env }, root);
  const start = (name: string) => runs.start(path.join(root, name), root);
  await start('slow.yaml');
  for (let i = 0; i < 20; i++) await start(`${i}.yaml`);
  const listed = await runs.list();
  expect([listed.length, listed.at(-1)?.file]).toEqual([20, '0.yaml']);
  expect(readdirSync(outputs)).toHaveLength(21);
  writeFileSync(path.join(root, 'end'), '');
  const isEnded = (): boolean => existsSync(path.join(root, 'ended'));
  await expect.poll(isEnded).toBe(true);
  const clear = async (): Promise<number> => {
    await runs.close();
    return readdirSync(outputs).length;
  };
  await expect.poll(clear).toBe(0);
}, 60_000);

it('leaves nothing of a run that could not be started', async () => {
  const runs = createStartedRuns({ command: [path.join(root, 'none')], env: {} }, root);
  await expect(runs.start(path.join(root, 'a.yaml'), root)).rejects.toThrow('ENOENT');
  expect(readdirSync(outputs)).toEqual([]);
});
