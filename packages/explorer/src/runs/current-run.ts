/** Which run the code that executes now belongs to, for messages about a blocked or ended process. */
import { AsyncLocalStorage } from 'node:async_hooks';

const runs = new AsyncLocalStorage<string>();

/** Calls `work` as part of the run of that name, and with it everything that it starts. */
export function inRun<T>(name: string, work: () => T): T {
  return runs.run(name, work);
}

/** Undefined outside of any run. */
export function currentRun(): string | undefined {
  return runs.getStore();
}
