import { compileExpression } from './expressions.js';
import { newScope, type Execute, type Scope } from './scope.js';
import type { Statement } from './syntax.js';
import { Attributes, equal, iterate, truthy, type Value } from './values.js';

/**
 * Compiles a `for` loop. Each iteration has its own scope, so variables that an iteration sets do
 * not exist afterwards.
 */
export function forLoop(
  { iterable }: Extract<Statement, { readonly type: 'For' }>,
  body: Execute,
  otherwise: Execute,
  assign: (scope: Scope, value: Value) => void,
): Execute {
  const filtered = iterable.type === 'SelectExpression' ? iterable : undefined;
  const source = compileExpression(filtered?.lhs ?? iterable);
  const test = filtered && compileExpression(filtered.test);
  return (outer, out) => {
    const keep = (value: Value): boolean => {
      const scope = newScope(outer);
      assign(scope, value);
      return truthy(test?.(scope));
    };
    const all = iterate(source(outer));
    const items = test ? all.filter(keep) : all;
    if (items.length === 0) return otherwise(newScope(outer), out);
    let changing: readonly Value[] | undefined;
    const changed = (values: readonly Value[]): boolean => {
      const same = changing !== undefined && equal(changing, values);
      changing = values;
      return !same;
    };
    for (let i = 0; i < items.length; i++) {
      const scope = newScope(outer);
      scope.variables.set('loop', loopAt(items, i, changed));
      assign(scope, items[i]);
      if (body(scope, out) === 'break') break;
    }
    return undefined;
  };
}

function loopAt(
  items: readonly Value[],
  i: number,
  changed: (values: readonly Value[]) => boolean,
): Attributes {
  return new Attributes(
    new Map<string, Value>([
      ['index', i + 1],
      ['index0', i],
      ['revindex', items.length - i],
      ['revindex0', items.length - i - 1],
      ['first', i === 0],
      ['last', i === items.length - 1],
      ['length', items.length],
      ['depth', 1],
      ['depth0', 0],
      ['previtem', i > 0 ? items[i - 1] : undefined],
      ['nextitem', items[i + 1]],
      ['cycle', (values) => values[i % values.length]],
      ['changed', (values) => changed(values)],
    ]),
  );
}
