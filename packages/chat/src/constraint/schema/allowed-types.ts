/** Types of the values that a conjunction of schemas allows. */
import { invalidRequest, quote } from '../../messages/invalid-request.js';
import { hasKeywordsOf } from './keywords.js';
import { typeOf, types, type Conjunction, type SchemaNode, type SchemaType } from './types.js';

const everyType: ReadonlySet<SchemaType> = new Set(types);

/** Returns the types that all schemas allow. `integer` is only included if `number` is not. */
export function allowedTypes(nodes: Conjunction): ReadonlySet<SchemaType> {
  return nodes.reduce((all, node) => common(all, typesOf(node) ?? everyType), everyType);
}

/**
 * Returns the types that the schemas name. If the schemas name no types, returns the types to which
 * their keywords apply; `properties` without `type: object` then allows objects only. If there are
 * no such keywords either, returns all allowed types.
 */
export function intendedTypes(nodes: Conjunction): ReadonlySet<SchemaType> {
  const allowed = allowedTypes(nodes);
  if (nodes.some((node) => typesOf(node) !== undefined)) return allowed;
  const intended = types.filter((type) => nodes.some(({ schema }) => hasKeywordsOf(schema, type)));
  return intended.length > 0 ? common(allowed, new Set(intended)) : allowed;
}

function common(a: ReadonlySet<SchemaType>, b: ReadonlySet<SchemaType>): ReadonlySet<SchemaType> {
  const both = new Set([...a].filter((type) => b.has(type)));
  if ((a.has('number') && b.has('integer')) || (b.has('number') && a.has('integer')))
    both.add('integer');
  if (both.has('number')) both.delete('integer');
  return both;
}

/**
 * Returns the types that a schema allows by its keywords `type`, `enum` and `const`; undefined if
 * these do not restrict types.
 */
function typesOf({ schema, path }: SchemaNode): ReadonlySet<SchemaType> | undefined {
  const { type, nullable, enum: values } = schema;
  const byValue = new Set<SchemaType>(
    schema['const'] !== undefined
      ? [typeOf(schema['const'])]
      : Array.isArray(values)
        ? values.map(typeOf)
        : types,
  );
  if (type === undefined) return byValue.size < types.length ? byValue : undefined;
  const named = [type].flat();
  for (const name of named)
    if (name !== 'integer' && !types.includes(name as never))
      throw invalidRequest(`${path}.type`, `is ${quote(name)}`, [...types, 'integer'].join(', '));
  return common(
    byValue,
    new Set([...(named as SchemaType[]), ...(nullable === true ? ['null' as const] : [])]),
  );
}
