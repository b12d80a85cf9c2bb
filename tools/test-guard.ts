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
  const names = Object.keys({ ...before, ...process.env });
  const changed = names.filter((name) => process.env[name] !== before[name]);
  for (const name of changed) {
    if (before[name] === undefined) delete process.env[name];
    else process.env[name] = before[name];
  }
  if (changed.length > 0)
    throw new Error(`The file left ${changed.join(', ')} changed: use vi.stubEnv.`);
});
