/**
 * Scope for the variables of a template, a loop iteration or a macro call. Variables of outer
 * scopes are visible in inner scopes.
 */
import { isDict, isList, type Value } from './values.js';

export interface Scope {
  readonly variables: Map<string, Value>;
  readonly outer: Scope | undefined;
  readonly budget: Budget;
}

/** Work that one rendering may still do, in steps of about 50 ns. */
interface Budget {
  steps: number;
}

/**
 * Maximum number of steps of a rendering, which take about one second. A conversation of 10,000
 * messages needs about 1 % of them.
 */
export const mostSteps = 20_000_000;

/**
 * Number of steps that creating a scope costs. Each loop iteration and each macro call creates one.
 */
const scopeSteps = 20;

export function newScope(outer: Scope): Scope {
  spend(outer, scopeSteps);
  return { variables: new Map(), outer, budget: outer.budget };
}

/** Subtracts steps from the budget. Throws when it is exhausted, so that every rendering ends. */
export function spend({ budget }: Scope, steps: number): void {
  budget.steps -= steps;
  if (budget.steps < 0)
    throw new Error(`it takes more than ${mostSteps} steps. Shorten its loops, or the messages`);
}

/** Returns the number of steps that reading a value once costs. */
export function sizeOf(value: Value): number {
  if (typeof value === 'string') return 1 + value.length / 16;
  if (isList(value)) return 1 + value.length;
  return isDict(value) ? 1 + value.size : 1;
}

/**
 * Returns the value of a variable, from the innermost scope that has a variable of this name;
 * undefined if there is none.
 */
export function lookUp(scope: Scope, name: string): Value {
  for (let at: Scope | undefined = scope; at; at = at.outer) {
    if (at.variables.has(name)) return at.variables.get(name);
  }
  return undefined;
}

/**
 * How a statement ended the loop iteration that contains it; undefined if the iteration continues.
 */
type Jump = 'break' | 'continue' | undefined;

/** Executes a statement, which may append text to `out` and set variables. */
export type Execute = (scope: Scope, out: string[]) => Jump;
