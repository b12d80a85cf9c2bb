import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect, it, onTestFinished } from 'vitest';

const sources = [
  '--conditions=@trinity-rft/source',
  `--import=${new URL('../../../tools/register-source.mjs', import.meta.url).href}`,
];
const module = JSON.stringify(new URL('main.ts', import.meta.url).href);
/** Answers questions from a pipe as from a terminal. */
const script = `process.stdin.isTTY = process.stdout.isTTY = true;
const { main } = await import(${module});
process.exitCode = await main([]);`;

it.each([
  ['the end of the input', ''],
  ['Ctrl-C', '\u0003'],
  ['Ctrl-D at the second question', 'folder\r\u0004'],
])('ends with 130 and without a message at %s', async (_, input) => {
  const child = spawn(process.execPath, [...sources, '--input-type=module', '-e', script]);
  let said = '';
  child.stderr.on('data', (text: Buffer) => (said += String(text)));
  child.stdout.once('data', () => child.stdin.end(input));
  const [exitCode] = (await once(child, 'close')) as [number];
  expect([exitCode, said]).toEqual([130, '']);
});

it('names the files of the workspace that --add changed, and not those that it created', async () => {
  const root = await mkdtemp(path.join(tmpdir(), 'trinity-create-'));
  onTestFinished(() => rm(root, { recursive: true, force: true }));
  const cwd = path.join(root, 'apps', 'web');
  await mkdir(cwd, { recursive: true });
  await writeFile(path.join(root, 'package.json'), '{"workspaces":["apps/*"]}');
  await writeFile(path.join(root, 'pnpm-workspace.yaml'), 'packages: [apps/*]\n');
  await writeFile(path.join(cwd, 'package.json'), '{}');
  const add = `await (await import(${module})).main(['--add', './lib/train']);`;
  const args = [...sources, '--input-type=module', '-e', add];
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd });
  const above = (name: string): string => path.join('..', '..', name);
  expect(stdout).toContain(
    `changed ${above('package.json')}, ${above('pnpm-workspace.yaml')}, package.json).`,
  );
});
