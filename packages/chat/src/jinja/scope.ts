/** Variables of a template, a loop pass or a macro call; inner scopes see the outer ones. */
import type { Value } from './values.js';

export interface Scope {
  readonly variables: Map<string, Value>;
  readonly outer: Scope | undefined;
}

export const newScope = (outer: Scope | undefined): Scope => ({ variables: new Map(), outer });

/** Undefined when no scope has the name. */
export function lookUp(scope: Scope, name: string): Value {
  for (let at: Scope | undefined = scope; at; at = at.outer) {
    if (at.variables.has(name)) return at.variables.get(name);
  }
  return undefined;
}

/** What ends a pass through a loop early. */
type Jump = 'break' | 'continue' | undefined;

/** A statement: writes text and sets variables. */
export type Execute = (scope: Scope, out: string[]) => Jump;
