/** A Python with packages, installed once into a cache. */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';

const execute = promisify(execFile);
const patienceMs = 900_000;

/** Path of the program, or why there is none. */
export type FoundPython = { readonly program: string } | { readonly missing: string };

/**
 * The Python that `TRINITY_TEST_PYTHON` names, which has the packages; otherwise one in
 * `~/.cache/trinity-rft`, into which they are installed (torch makes that gigabytes).
 */
export async function findPython(packages: readonly string[]): Promise<FoundPython> {
  const named = process.env['TRINITY_TEST_PYTHON'];
  if (named !== undefined) return { program: named };
  const folder = path.join(homedir(), '.cache', 'trinity-rft', `python-${packages.join('-')}`);
  const program = path.join(folder, 'bin', 'python');
  const complete = path.join(folder, 'complete');
  if (existsSync(complete)) return { program };
  try {
    await execute('python3', ['-m', 'venv', folder], { timeout: patienceMs });
    const install = ['-m', 'pip', 'install', '--quiet', ...packages];
    await execute(program, install, { timeout: patienceMs });
    await writeFile(complete, '');
    return { program };
  } catch (error) {
    return { missing: `no Python with ${packages.join(', ')}: ${(error as Error).message}` };
  }
}

/** What a script prints as JSON. */
export async function runPython<T>(program: string, args: readonly string[]): Promise<T> {
  const limits = { timeout: patienceMs, maxBuffer: 1 << 28 };
  const { stdout } = await execute(program, args, limits);
  return JSON.parse(stdout) as T;
}
