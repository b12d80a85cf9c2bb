/** What goes over the line between a checker and its thread. */
import type { MessagePort } from 'node:worker_threads';
import type { MathPair } from './rules.js';

/** What the thread is started with. */
export interface CheckTask {
  /** The thread's end of the line. */
  readonly port: MessagePort;
  readonly maxAnswerLength: number;
}

export interface ToCheckThread extends MathPair {
  readonly id: number;
}

/**
 * In the order of the questions. `equal` is undefined where the comparison threw. Id 0 comes first:
 * the thread is ready.
 */
export interface FromCheckThread {
  readonly id: number;
  readonly equal: boolean | undefined;
}
