/** Rules for arrays: items with a schema for their position, then items with a common schema. */
import { counted, literal, type Sequence } from '../grammar/grammar.js';
import { space } from '../grammar/json-value.js';
import { unsupportedKeyword } from './keywords.js';
import { nodeOf } from './normal-form.js';
import { highest, lowest, type Compiler, type Conjunction, type SchemaNode } from './types.js';

export function arrayAlternatives(compiler: Compiler, nodes: Conjunction): readonly Sequence[] {
  const { grammar } = compiler;
  const least = highest(nodes, 'minItems');
  const most = lowest(nodes, 'maxItems');
  const repeating = nodes.find(({ schema }) => schema['uniqueItems'] === true);
  if (repeating && most > 1)
    throw unsupportedKeyword(
      `${repeating.path}.uniqueItems`,
      'a schema without it, or with maxItems 1: a grammar does not compare items',
    );
  const lists = nodes.map(listOf);
  const leading = Math.max(1, ...lists.map(({ first }) => first.length));
  const itemAt = (index: number): number =>
    compiler.rule(lists.flatMap(({ first, rest }) => first[index] ?? rest ?? []));
  const gap = space(grammar);
  const close = literal(']');
  const after = (index: number): Sequence => [...literal(','), gap, itemAt(index), gap];
  let rest = grammar.rule(
    most < Math.max(leading, least)
      ? []
      : [
          [
            counted(grammar, after(leading), Math.max(least - leading, 0), most - leading),
            ...close,
          ],
        ],
  );
  for (let index = leading - 1; index >= 0; index--) {
    const item = index === 0 ? [itemAt(0), gap] : after(index);
    rest = grammar.rule([
      ...(index >= least ? [close] : []),
      ...(index < most ? [[...item, rest]] : []),
    ]);
  }
  return [[...literal('['), gap, rest]];
}

interface List {
  readonly first: readonly (SchemaNode | boolean)[];
  readonly rest: SchemaNode | boolean | undefined;
}

/**
 * Reads `prefixItems` and `items`. In drafts before 2020-12, these keywords are `items` and
 * `additionalItems`.
 */
function listOf({ schema, path }: SchemaNode): List {
  const { prefixItems, items, additionalItems } = schema;
  const isOld = Array.isArray(items);
  const [first, rest] = isOld ? [items, additionalItems] : [prefixItems ?? [], items];
  const name = isOld ? 'items' : 'prefixItems';
  const restName = isOld ? 'additionalItems' : 'items';
  return {
    first: (first as readonly unknown[]).map((each, i) => nodeOf(each, `${path}.${name}[${i}]`)),
    rest: rest === undefined ? undefined : nodeOf(rest, `${path}.${restName}`),
  };
}
