/** Programs of a Python package, installed once into the user's cache. */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const patienceMs = 900_000;

/** The folder of the programs; undefined when there is no Python or no package registry. */
export async function pythonPrograms(requirement: string): Promise<string | undefined> {
  const root = process.env['XDG_CACHE_HOME'] ?? path.join(homedir(), '.cache');
  const folder = path.join(root, 'trinity-rft', `python-${requirement}`);
  const programs = path.join(folder, 'bin');
  if (existsSync(path.join(folder, 'done'))) return programs;
  try {
    await mkdir(folder, { recursive: true });
    await run('python3', ['-m', 'venv', folder], { timeout: patienceMs });
    const install = ['install', '-q', requirement];
    await run(path.join(programs, 'pip'), install, { timeout: patienceMs });
    await writeFile(path.join(folder, 'done'), '');
    return programs;
  } catch {
    return undefined;
  }
}
