/** Determines the types that a JSON Schema allows for a value, without evaluating all keywords. */
import { isObject, type JsonObject } from '../json/object.js';
import { lookUp } from '../json/pointer.js';

/** JSON types by keyword, for keywords that only restrict values of one type. */
const typeOfKeyword: Readonly<Record<string, string>> = {
  properties: 'object',
  additionalProperties: 'object',
  patternProperties: 'object',
  propertyNames: 'object',
  required: 'object',
  items: 'array',
  prefixItems: 'array',
  minItems: 'array',
  maxItems: 'array',
  minLength: 'string',
  maxLength: 'string',
  pattern: 'string',
  format: 'string',
  minimum: 'number',
  maximum: 'number',
  exclusiveMinimum: 'number',
  exclusiveMaximum: 'number',
  multipleOf: 'number',
};

/**
 * Returns the schemas of each property of an object, including those in `allOf`, in alternatives,
 * and in schemas to which `$ref` refers.
 * @param root schema in which `$ref` is resolved
 */
export function propertiesOf(
  schema: unknown,
  root: JsonObject,
): ReadonlyMap<string, readonly unknown[]> {
  const found = new Map<string, unknown[]>();
  const seen = new Set<unknown>();
  const visit = (each: unknown): void => {
    if (!isObject(each) || seen.has(each)) return;
    seen.add(each);
    const { properties } = each;
    for (const [name, own] of isObject(properties) ? Object.entries(properties) : [])
      found.set(name, [...(found.get(name) ?? []), own]);
    for (const part of [...required(each, root), ...(alternativesOf(each) ?? [])]) visit(part);
  };
  visit(schema);
  return found;
}

/**
 * Returns the types that at least one of the schemas allows; an empty list if the schemas do not
 * restrict types.
 */
export function typesOf(schemas: readonly unknown[], root: JsonObject): readonly string[] {
  /**
   * Types by schema. They are empty while a schema is being read, which ends the recursion if it
   * refers to itself.
   */
  const known = new Map<unknown, readonly string[]>();
  const typesOfOne = (schema: unknown): readonly string[] => {
    if (!isObject(schema)) return [];
    const types = known.get(schema);
    if (types) return types;
    known.set(schema, []);
    const all = [ownTypes(schema, typesOfOne), ...required(schema, root).map(typesOfOne)];
    const found = inAll(all.filter((each) => each.length > 0));
    known.set(schema, found);
    return found;
  };
  return [...new Set(schemas.flatMap(typesOfOne))];
}

/**
 * Returns the types that are in all lists. If no type is in all lists, no value is valid, and the
 * types of the first list are returned.
 */
function inAll(lists: readonly (readonly string[])[]): readonly string[] {
  const [first = [], ...others] = lists;
  const common = first.filter((type) => others.every((types) => types.includes(type)));
  return common.length > 0 ? common : first;
}

/** Returns the schemas that a value must satisfy in addition to the given schema. */
function required({ $ref: reference, allOf }: JsonObject, root: JsonObject): readonly unknown[] {
  const parts: readonly unknown[] = Array.isArray(allOf) ? allOf : [];
  return typeof reference === 'string' ? [lookUp(root, reference), ...parts] : parts;
}

const alternativesOf = ({ anyOf, oneOf }: JsonObject): readonly unknown[] | undefined =>
  [anyOf, oneOf].find((each) => Array.isArray(each));

function ownTypes(
  schema: JsonObject,
  typesOfOne: (schema: unknown) => readonly string[],
): readonly string[] {
  const named = [schema['type']].flat().filter((each) => typeof each === 'string');
  if (named.length > 0) return schema['nullable'] === true ? [...named, 'null'] : named;
  if (Object.hasOwn(schema, 'const')) return [typeOfValue(schema['const'])];
  if (Array.isArray(schema['enum'])) return [...new Set(schema['enum'].map(typeOfValue))];
  const alternatives = alternativesOf(schema);
  if (alternatives) return [...new Set(alternatives.flatMap(typesOfOne))];
  const keyword = Object.keys(typeOfKeyword).find((each) => Object.hasOwn(schema, each));
  return keyword === undefined ? [] : [typeOfKeyword[keyword] ?? ''];
}

function typeOfValue(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  return Number.isInteger(value) ? 'integer' : typeof value;
}
