/**
 * Variables of a template, a loop iteration or a macro call; inner scopes can read the variables of
 * outer scopes.
 */
import { isDict, isList, type Value } from './values.js';

export interface Scope {
  readonly variables: Map<string, Value>;
  readonly outer: Scope | undefined;
  readonly budget: Budget;
}

/** Remaining work of one rendering, in steps of about 50 ns. */
interface Budget {
  steps: number;
}

/**
 * Maximum number of steps, which take about one second. A conversation of 10,000 messages needs
 * about 1 % of these steps.
 */
export const mostSteps = 20_000_000;

/** Number of steps for creating a scope, as each loop iteration and each macro call does. */
const scopeSteps = 20;

export function newScope(outer: Scope): Scope {
  spend(outer, scopeSteps);
  return { variables: new Map(), outer, budget: outer.budget };
}

/** Counts steps, and throws when the budget is exhausted, so that every rendering ends. */
export function spend({ budget }: Scope, steps: number): void {
  budget.steps -= steps;
  if (budget.steps < 0)
    throw new Error(`it takes more than ${mostSteps} steps. Shorten its loops, or the messages`);
}

/** Number of steps for reading a value once. */
export function sizeOf(value: Value): number {
  if (typeof value === 'string') return 1 + value.length / 16;
  if (isList(value)) return 1 + value.length;
  return isDict(value) ? 1 + value.size : 1;
}

/** Value of a variable in the innermost scope that has it; undefined if no scope has the name. */
export function lookUp(scope: Scope, name: string): Value {
  for (let at: Scope | undefined = scope; at; at = at.outer) {
    if (at.variables.has(name)) return at.variables.get(name);
  }
  return undefined;
}

/** Early end of a loop iteration; undefined if the statement did not end the iteration. */
type Jump = 'break' | 'continue' | undefined;

/** Executes a statement, which writes text and sets variables. */
export type Execute = (scope: Scope, out: string[]) => Jump;
