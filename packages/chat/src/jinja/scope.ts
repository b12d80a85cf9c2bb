/** Variables of a template, a loop pass or a macro call; inner scopes see the outer ones. */
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

/** About a second; a conversation of 10,000 messages takes a hundredth. */
export const mostSteps = 20_000_000;

/** Steps of a new scope, as each pass through a loop and each call of a macro has one. */
const scopeSteps = 20;

export function newScope(outer: Scope): Scope {
  spend(outer, scopeSteps);
  return { variables: new Map(), outer, budget: outer.budget };
}

/** Counts work, so that a template ends whatever its loops, macros and texts are. */
export function spend({ budget }: Scope, steps: number): void {
  budget.steps -= steps;
  if (budget.steps < 0)
    throw new Error(`it takes more than ${mostSteps} steps. Shorten its loops, or the messages`);
}

/** Steps of reading a value once. */
export function sizeOf(value: Value): number {
  if (typeof value === 'string') return 1 + value.length / 16;
  if (isList(value)) return 1 + value.length;
  return isDict(value) ? 1 + value.size : 1;
}

/** Undefined when no scope has the name. */
export function lookUp(scope: Scope, name: string): Value {
  for (let at: Scope | undefined = scope; at; at = at.outer) {
    if (at.variables.has(name)) return at.variables.get(name);
  }
  return undefined;
}

/** Reason for ending a pass through a loop early. */
type Jump = 'break' | 'continue' | undefined;

/** A statement: writes text and sets variables. */
export type Execute = (scope: Scope, out: string[]) => Jump;
