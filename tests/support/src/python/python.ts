/** Finds a Python with packages, installed once into the user's cache, for tests that compare with other programs. */
import { execFile, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';

const execute = promisify(execFile);
/** Timeouts in ms of an installation, which may be gigabytes, and of a script. */
const [installMs, scriptMs] = [900_000, 900_000];

/** Path of the program, or the reason why it is missing. Other programs of the packages are in the same folder. */
export type FoundPython = { readonly program: string } | { readonly missing: string };

/**
 * The Python that `TRINITY_TEST_PYTHON` names, which has the packages; otherwise a virtual
 * environment below `trinity-rft` in the user's cache, into which they are installed.
 */
export async function findPython(packages: readonly string[]): Promise<FoundPython> {
  const named = process.env['TRINITY_TEST_PYTHON'];
  if (named !== undefined) return { program: named };
  const cache = process.env['XDG_CACHE_HOME'] ?? path.join(homedir(), '.cache');
  const folder = path.join(cache, 'trinity-rft', `python-${packages.join('-')}`);
  const program = path.join(folder, 'bin', 'python');
  const complete = path.join(folder, 'complete');
  if (existsSync(complete)) return { program };
  try {
    await mkdir(folder, { recursive: true });
    await execute('python3', ['-m', 'venv', folder], { timeout: installMs });
    await runPip(program, ['install', '--quiet', ...packages]);
    await writeFile(complete, '');
    return { program };
  } catch (error) {
    return { missing: `no Python with ${packages.join(', ')}: ${(error as Error).message}` };
  }
}

/** Runs pip of the Python `program`. */
export async function runPip(program: string, args: readonly string[]): Promise<void> {
  await execute(program, ['-m', 'pip', ...args], { timeout: installMs });
}

/**
 * Runs a script and returns the JSON that it prints.
 * @param input passed as JSON on standard input
 */
export async function runPython<T>(
  program: string,
  args: readonly string[],
  input?: unknown,
): Promise<T> {
  const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'pipe'], timeout: scriptMs });
  const printed = Promise.all([text(child.stdout), text(child.stderr)]);
  child.stdin.end(input === undefined ? '' : JSON.stringify(input));
  const code = await new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  const [output, problems] = await printed;
  if (code !== 0) throw new Error(`${args[0]} ended with code ${String(code)}:\n${problems}`);
  return JSON.parse(output) as T;
}
