/**
 * Reports if the process of a training run exits before the training run has ended, or if its event
 * loop is blocked.
 */
import { writeFileSync, writeSync } from 'node:fs';
import { currentRun } from '@trinity-rft/explorer/internal';
import { startWatchdog } from './watchdog.js';

export interface GuardOptions {
  /** Returns the file for the report of an early end. */
  readonly failureFile: () => string;
  /**
   * Maximum duration of an attempt, in ms. The process is ended if its event loop is blocked for
   * longer.
   */
  readonly maxTimeoutMs: number;
  /** Aborts when the user interrupts the training run. */
  readonly signal: AbortSignal;
}

const interrupted = 130;
/**
 * Time in ms after which a blocked event loop is reported. Loading a model may block it for some
 * seconds.
 */
const reportAfterMs = 4000;

export function guardProcess(options: GuardOptions): { stop(): Promise<void> } {
  const onExit = (code: number): void => reportExit(code, options);
  process.on('exit', onExit);
  const { maxTimeoutMs } = options;
  const endAfterMs = Math.max(maxTimeoutMs, 2 * reportAfterMs);
  const watchdog = startWatchdog({ reportAfterMs, endAfterMs });
  return {
    stop: () => {
      process.off('exit', onExit);
      return watchdog.stop();
    },
  };
}

/** Reports an early end of the process, and sets an exit code that signals an error. */
function reportExit(code: number, { failureFile, signal }: GuardOptions): void {
  if (code === interrupted && signal.aborted) return;
  const run = currentRun();
  const who = run === undefined ? '' : ` by run ${run}`;
  const text = `The process was ended${who} with exit code ${code} before the run was complete: something called process.exit, or nothing was left that could wake it. Agents must return or throw instead. The same command resumes the run.\n`;
  if (code === 0) process.exitCode = 1;
  for (const write of [() => writeSync(2, text), () => writeFileSync(failureFile(), text)]) {
    try {
      write();
    } catch {
      // Ignored: the other write may still succeed, and the exit code shows the failure as well.
    }
  }
}
