/** Python programs with their packages, installed once into the user's cache by uv. */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';

const execute = promisify(execFile);
const timeout = 1_800_000;
const cache = path.join(
  process.env['XDG_CACHE_HOME'] ?? path.join(homedir(), '.cache'),
  'trinity-rft',
);

/** Paths of the programs, or the reason why they are missing. */
export type Installed =
  | { readonly uv: string; readonly python: string }
  | { readonly missing: string };

export interface Installation {
  /** Name of the folder in the cache. */
  readonly name: string;
  /** Requirements in pip's syntax. */
  readonly packages: readonly string[];
  /**
   * Versions that override those that the packages require.
   * @default no overrides
   */
  readonly overrides?: readonly string[];
}

export async function installOnce(installation: Installation): Promise<Installed> {
  const { name, packages, overrides = [] } = installation;
  const folder = path.join(cache, name);
  const python = path.join(folder, 'bin', 'python');
  const complete = path.join(folder, 'complete');
  try {
    const uv = await findUv();
    const found = { uv: uv.program, python };
    if (existsSync(complete)) return found;
    await mkdir(folder, { recursive: true });
    const file = path.join(folder, 'override.txt');
    await writeFile(file, overrides.map((line) => `${line}\n`).join(''));
    const environment = ['venv', '--python', uv.python, '--allow-existing', folder];
    await execute(uv.program, environment, { timeout });
    const where = ['pip', 'install', '--python', python, '--override', file];
    await execute(uv.program, [...where, ...packages], { timeout });
    await writeFile(complete, '');
    return found;
  } catch (error) {
    return { missing: `${name} cannot be installed: ${(error as Error).message}` };
  }
}

async function findUv(): Promise<{ readonly program: string; readonly python: string }> {
  const folder = path.join(cache, 'uv');
  const [program, python] = ['uv', 'python'].map((name) => path.join(folder, 'bin', name));
  if (!program || !python) throw new Error('unreachable');
  if (existsSync(program)) return { program, python };
  const system = await findPython();
  await execute(system, ['-m', 'venv', folder], { timeout });
  await execute(python, ['-m', 'pip', 'install', '-q', 'uv'], { timeout });
  return { program, python };
}

async function findPython(): Promise<string> {
  const versions = path.join(homedir(), '.pyenv', 'versions');
  const ofPyenv = (await readdir(versions).catch(() => []))
    .filter((version) => /^3\.1[23]\./.test(version))
    .map((version) => path.join(versions, version, 'bin', 'python'));
  for (const name of ['python3.13', 'python3.12', ...ofPyenv]) {
    const works = await execute(name, ['--version']).catch(() => undefined);
    if (works) return name;
  }
  throw new Error('there is no Python 3.12 or 3.13');
}
