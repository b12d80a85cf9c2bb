/** Messages between a turn store and its thread. */
import type { ErrorRecord } from '@trinity-rft/core';
import type { TurnDatabase } from './sqlite.js';

/** What can be asked of the thread: the methods of the database. */
export type Methods = Omit<TurnDatabase, 'starts'>;
export type Method = keyof Methods;

/** A call of a method, under a number that its answer carries too. */
export type Question = {
  [M in Method]: { readonly id: number; readonly method: M; readonly args: Parameters<Methods[M]> };
}[Method];

/** Those that were asked in one turn of the event loop, in order. */
export type Questions = readonly Question[];

export type Answer = { readonly id: number } & (
  | { readonly result: unknown }
  | { readonly error: ErrorRecord }
);
/** Those that became ready together. */
export type Answers = readonly Answer[];

/**
 * Number of the question that nobody has to ask: has the file been opened? The answer is the count
 * of starts.
 */
export const opening = 0;
