/** Time limit for synchronous work with regular expressions of users and model files. */
import { createContext, Script, type Context } from 'node:vm';

let context: Context | undefined;
let script: Script | undefined;

/**
 * Runs `work` and returns its result. Interrupts `work` after `ms` milliseconds, and then returns
 * undefined. Adds about 0.1 ms to the running time.
 */
export function withinMs<T>(ms: number, work: () => T): { readonly value: T } | undefined {
  context ??= createContext({});
  script ??= new Script('work()');
  context['work'] = work;
  try {
    return { value: script.runInContext(context, { timeout: ms }) as T };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_SCRIPT_EXECUTION_TIMEOUT') return undefined;
    throw error;
  } finally {
    context['work'] = undefined;
  }
}
