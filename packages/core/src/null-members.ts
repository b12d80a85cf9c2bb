/**
 * Removes members that are null from tools and tool calls. Tables such as those of Hugging Face give
 * each object of a column the members of all others, with null as their value.
 */
import { withNumbersOf } from './exact-json.js';

type Json = Readonly<Record<string, unknown>>;

const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Keywords of JSON Schema whose value maps names to schemas. */
const maps: ReadonlySet<string> = new Set([
  'properties',
  'patternProperties',
  'dependentSchemas',
  '$defs',
  'definitions',
]);

/** Keywords of JSON Schema whose value is data. */
const dataKeys: ReadonlySet<string> = new Set(['default', 'const', 'enum', 'examples']);

/** Keywords that restrict the values of a schema; without any of them, it admits null. */
const restrictions = ['type', 'enum', 'const', 'anyOf', 'oneOf', 'allOf', 'properties', 'items'];

/** Returns true if null may satisfy the schema, also if a reference hides its type. */
function admitsNull(schema: unknown): boolean {
  if (!isObject(schema)) return schema === true;
  const { type, nullable, enum: values } = schema;
  const isNull = (one: unknown): boolean => one === null || one === 'null';
  if (nullable === true || isNull(type ?? '')) return true;
  if (Array.isArray(type)) return type.some(isNull);
  if (Array.isArray(values)) return values.includes(null);
  const options = schema['anyOf'] ?? schema['oneOf'];
  if (Array.isArray(options)) return options.some(admitsNull);
  return restrictions.every((key) => (schema[key] ?? undefined) === undefined);
}

/** Copies an object with its members converted by `convert`, without those of which it is undefined. */
function mapMembers(value: Json, convert: (member: unknown, key: string) => unknown): Json {
  const members = Object.entries(value).flatMap(([key, member]) => {
    const converted = convert(member, key);
    return converted === undefined ? [] : [[key, converted] as const];
  });
  return withNumbersOf(value, Object.fromEntries(members));
}

/**
 * Returns a JSON Schema without its members that are null. Null stays as the default or constant of
 * a schema that admits it.
 */
export function schemaWithoutNulls(schema: unknown): unknown {
  if (Array.isArray(schema)) return withNumbersOf(schema, schema.map(schemaWithoutNulls));
  if (!isObject(schema)) return schema;
  return mapMembers(schema, (member, key) => {
    if (member === null) return dataKeys.has(key) && admitsNull(schema) ? null : undefined;
    if (dataKeys.has(key)) return member;
    if (!maps.has(key) || !isObject(member)) return schemaWithoutNulls(member);
    return mapMembers(member, (one) => schemaWithoutNulls(one) ?? undefined);
  });
}

/** Returns a tool definition without its members that are null, and those of its parameters. */
export const toolWithoutNulls = (tool: Json): Json =>
  mapMembers(tool, (member, key) =>
    key === 'function' && isObject(member)
      ? mapMembers(member, (one) => schemaWithoutNulls(one) ?? undefined)
      : (member ?? undefined),
  );

/**
 * Returns the arguments of a tool call without those that are null, unless the schema of the tool's
 * parameters requires them or admits null for them. Objects without a schema stay as they are.
 */
export function argumentsWithoutNulls(args: unknown, schema: unknown): unknown {
  if (!isObject(schema)) return args;
  const { properties, required, additionalProperties, items } = schema;
  if (Array.isArray(args))
    return withNumbersOf(
      args,
      args.map((each) => argumentsWithoutNulls(each, items)),
    );
  if (!isObject(args) || !isObject(properties)) return args;
  return mapMembers(args, (member, name) => {
    const own = (Object.hasOwn(properties, name) && properties[name]) || additionalProperties;
    if (member !== null) return argumentsWithoutNulls(member, own);
    const isRequired = Array.isArray(required) && required.includes(name);
    return isRequired || admitsNull(own) ? null : undefined;
  });
}
