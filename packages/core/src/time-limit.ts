/** Time limit for synchronous work with regular expressions of users and model files. */
import { createContext, Script, type Context } from 'node:vm';

let context: Context | undefined;
let script: Script | undefined;

/** Maximum number of times that work is run. */
const mostRuns = 3;

/**
 * Runs `work` and returns its result. Interrupts `work` after `ms` milliseconds, and then returns
 * undefined. Adds about 0.1 ms to the running time. Work that was interrupted is run again, up to
 * three times in total, if the process computed for less than half of that time: then the machine
 * paused or was busy, and the work may be fast.
 */
export function withinMs<T>(ms: number, work: () => T): { readonly value: T } | undefined {
  context ??= createContext({});
  script ??= new Script('work()');
  context['work'] = work;
  try {
    for (let runs = 1; runs <= mostRuns; runs++) {
      const before = process.cpuUsage();
      try {
        return { value: script.runInContext(context, { timeout: ms }) as T };
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ERR_SCRIPT_EXECUTION_TIMEOUT') throw error;
      }
      const { user, system } = process.cpuUsage(before);
      if ((user + system) / 1000 > ms / 2) return undefined;
    }
    return undefined;
  } finally {
    context['work'] = undefined;
  }
}
