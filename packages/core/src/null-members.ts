/**
 * Removes members that are null from tools and tool calls. Tables such as those of Hugging Face give
 * each object of a column the members of all others, with null as their value.
 */
import { withNumbersOf } from './exact-json.js';

type Json = Readonly<Record<string, unknown>>;

const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const isPresent = (value: unknown): boolean => value !== undefined && value !== null;

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

/** Returns false if the type, the values or all options of a schema exclude null. */
function admitsNull(schema: unknown): boolean {
  if (!isObject(schema)) return schema === true;
  const { type, nullable, enum: values } = schema;
  if (nullable === true) return true;
  if (isPresent(type)) return [type].flat().some((one) => one === null || one === 'null');
  if (Array.isArray(values)) return values.includes(null);
  const options = schema['anyOf'] ?? schema['oneOf'];
  return !Array.isArray(options) || options.some(admitsNull);
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
 * Returns a JSON Schema without its members that are null. Null stays as a default, and as the
 * constant of a schema that admits it.
 */
export function schemaWithoutNulls(schema: unknown): unknown {
  if (Array.isArray(schema)) return withNumbersOf(schema, schema.map(schemaWithoutNulls));
  if (!isObject(schema)) return schema;
  return mapMembers(schema, (member, key) => {
    if (member === null)
      return key === 'default' || (key === 'const' && admitsNull(schema)) ? null : undefined;
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
 * Returns the arguments of a tool call without those that a table added: arguments that are null and
 * that the tool does not have. Where there are such, arguments go as well that are null, are not
 * required and exclude null. Other nulls stay, because a model may have written them; so do objects
 * without a schema, and those whose schema takes any names.
 */
export function argumentsWithoutNulls(args: unknown, schema: unknown): unknown {
  if (!isObject(schema)) return args;
  const { properties, required, additionalProperties: others, patternProperties, items } = schema;
  if (Array.isArray(args))
    return withNumbersOf(
      args,
      args.map((each) => argumentsWithoutNulls(each, items)),
    );
  if (!isObject(args) || !isObject(properties)) return args;
  const takesAny = isPresent(patternProperties) || (isPresent(others) && others !== false);
  const lacks = (name: string): boolean =>
    !Object.hasOwn(properties, name) || !isPresent(properties[name]);
  const isOfTable =
    !takesAny && Object.entries(args).some(([name, member]) => member === null && lacks(name));
  const excludesNull = (name: string): boolean => {
    const own = properties[name];
    const isRequired = Array.isArray(required) && required.includes(name);
    return !isRequired && isObject(own) && own['default'] !== null && !admitsNull(own);
  };
  return mapMembers(args, (member, name) => {
    if (member !== null)
      return argumentsWithoutNulls(member, lacks(name) ? others : properties[name]);
    return isOfTable && (lacks(name) || excludesNull(name)) ? undefined : null;
  });
}
