import { expect } from 'vitest';

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
