/** A Python environment with pinned packages, made once and kept in the user's cache. */
import { execFile, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';

const run = promisify(execFile);

const cache = path.join(
  process.env['XDG_CACHE_HOME'] ?? path.join(homedir(), '.cache'),
  'trinity-rft',
);

const requirements = ['transformers==5.23.0', 'jinja2==3.1.6', 'tokenizers==0.23.3'];

const minutes = (count: number): number => count * 60_000;

/** The folder of the environment; undefined when there is no Python or no package registry. */
export async function pythonEnvironment(): Promise<string | undefined> {
  const folder = path.join(cache, `python-${requirements.join('-')}`);
  const done = path.join(folder, 'done');
  if (existsSync(done)) return folder;
  try {
    await mkdir(folder, { recursive: true });
    await run('python3', ['-m', 'venv', path.join(folder, 'venv')], { timeout: minutes(2) });
    await pip(folder, ['install', '-q', ...requirements]);
    await writeFile(done, '');
    return folder;
  } catch {
    return undefined;
  }
}

/** Runs `pip` in the environment. */
export async function pip(folder: string, args: readonly string[]): Promise<void> {
  await run(path.join(folder, 'venv/bin/pip'), args, { timeout: minutes(8) });
}

/** Runs a script with JSON on its standard input, and reads the JSON that it prints. */
export async function runPython(folder: string, script: string, input: unknown): Promise<unknown> {
  const child = spawn(path.join(folder, 'venv/bin/python'), [script], {
    stdio: ['pipe', 'pipe', 'ignore'],
    timeout: minutes(5),
  });
  child.stdin.end(JSON.stringify(input));
  return JSON.parse(await text(child.stdout)) as unknown;
}
