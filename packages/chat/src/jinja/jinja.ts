/**
 * The subset of Jinja that chat templates need. A library parses templates; the code in this folder
 * evaluates them with Python's semantics, so that a prompt is identical to what `transformers`
 * renders for the same messages.
 */
import { globals } from './globals.js';
import { mostSteps, newScope } from './scope.js';
import { compileBody } from './statements.js';
import { parseTemplate } from './syntax.js';
import type { Value } from './values.js';

export type Render = (variables: ReadonlyMap<string, Value>) => string;

export interface JinjaOptions {
  /** Time that `strftime_now` formats, the same for all renderings. */
  readonly now: Date;
}

/**
 * Compiles a template to a function that renders it.
 * @throws Error for a syntax error
 */
export function compileJinja(source: string, { now }: JinjaOptions): Render {
  const execute = compileBody(parseTemplate(source));
  const shared = new Map(globals(now));
  return (variables) => {
    const budget = { steps: mostSteps };
    const scope = newScope({ variables: shared, outer: undefined, budget });
    for (const [name, value] of variables) scope.variables.set(name, value);
    const out: string[] = [];
    execute(scope, out);
    return out.join('');
  };
}
