import { afterAll, expect, vi } from 'vitest';
import { endFile } from '../tests/support/src/after-file.js';

// Our libraries must not print, because the terminal belongs to the program that uses them: they log
// through their `Runtime`, and report errors and metrics. A test that checks printing replaces the
// method with `vi.spyOn(console, 'log')`.
for (const method of ['debug', 'error', 'info', 'log', 'trace', 'warn'] as const) {
  console[method] = (...args: unknown[]) => {
    const test = expect.getState().currentTestName;
    throw new Error(
      `console.${method} was called${test === undefined ? '' : ` in "${test}"`}: ${args.map(String).join(' ')}`,
    );
  };
}

// Restores the environment, because test files share a process: a `PATH` with a stand-in would affect
// other files. Defined first, so that it runs after the file's own hooks.
const before = { ...process.env };
afterAll(() => {
  vi.unstubAllEnvs();
  for (const name of Object.keys(process.env)) if (!(name in before)) delete process.env[name];
  Object.assign(process.env, before);
});

afterAll(endFile);
