import { afterAll, expect, vi } from 'vitest';

// A library that prints takes the terminal away from the program that uses it: ours log through
// their `Runtime` and say the rest in errors and metrics. A test that wants to see printing
// replaces the method with `vi.spyOn(console, 'log')`.
for (const method of ['debug', 'error', 'info', 'log', 'trace', 'warn'] as const) {
  console[method] = (...args: unknown[]) => {
    const test = expect.getState().currentTestName;
    throw new Error(
      `console.${method} was called${test === undefined ? '' : ` in "${test}"`}: ${args.map(String).join(' ')}`,
    );
  };
}

// Files share a process: what one leaves in the environment, such as a `PATH` with a stand-in,
// another would take for the machine's. Defined first, this runs after the file's own hooks.
const before = { ...process.env };
afterAll(() => {
  vi.unstubAllEnvs();
  for (const name of Object.keys(process.env)) if (!(name in before)) delete process.env[name];
  Object.assign(process.env, before);
});
