import { afterAll, expect, vi } from 'vitest';
import { endFile } from '../tests/support/src/after-file.js';

// Our libraries must not print, because the terminal belongs to the program that uses them: they log
// through their `Runtime`, and report errors and metrics. A test that checks printing replaces the
// method with `vi.spyOn(console, 'log')`.
const printed: Error[] = [];
for (const method of ['debug', 'error', 'info', 'log', 'trace', 'warn'] as const) {
  console[method] = (...args: unknown[]) => {
    const test = expect.getState().currentTestName;
    const fault = new Error(
      `console.${method} was called${test === undefined ? '' : ` in "${test}"`}: ${args.map(String).join(' ')}`,
    );
    // Thrown at an unhandled rejection, which some libraries print, it would be the next rejection,
    // without end.
    if (!fault.stack?.includes('emitUnhandledRejection')) throw fault;
    printed.push(fault);
  };
}
afterAll(() => {
  const [first] = printed.splice(0);
  if (first) throw first;
});

// Test files share a process: a library that a file imports, such as the OpenAI Agents SDK, may listen
// for signals and unhandled rejections. It would end the process at a signal that a later file emits,
// and Vitest leaves rejections to it.
const listeners = (['SIGINT', 'SIGTERM', 'unhandledRejection'] as const).map((event) => {
  const emitter: NodeJS.EventEmitter = process;
  return { emitter, event, known: emitter.listeners(event) as (() => void)[] };
});
afterAll(() => {
  for (const { emitter, event, known } of listeners)
    for (const listener of emitter.listeners(event) as (() => void)[])
      if (!known.includes(listener)) emitter.off(event, listener);
});

// Restores the environment, because test files share a process: a `PATH` with a stand-in would affect
// other files. Defined first, so that it runs after the file's own hooks.
const before = { ...process.env };
afterAll(() => {
  vi.unstubAllEnvs();
  for (const name of Object.keys(process.env)) if (!(name in before)) delete process.env[name];
  Object.assign(process.env, before);
});

afterAll(endFile);
