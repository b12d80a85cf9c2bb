/** Programs that the sides run. */
import path from 'node:path';
import type { FoundPython } from '../../tests/support/src/python/python.ts';

export const repository = path.join(import.meta.dirname, '../..');

/** Command that runs a file of `ours/` from the sources. */
export const ourScript = (file: string, ...args: readonly string[]): readonly string[] => [
  process.execPath,
  ...process.execArgv,
  path.join(import.meta.dirname, 'ours', file),
  ...args,
];

/** The built `trinity` command. */
export const trinity = (...args: readonly string[]): readonly string[] => [
  process.execPath,
  path.join(repository, 'apps/runner/dist/cli.js'),
  ...args,
];

/** Function that makes commands for a file of `python/`; undefined if there is no Python. */
export function pythonScript(
  python: FoundPython,
  file: string,
): ((...args: readonly string[]) => readonly string[]) | undefined {
  if ('missing' in python) return undefined;
  const script = path.join(import.meta.dirname, 'python', file);
  return (...args) => [python.program, script, ...args];
}
