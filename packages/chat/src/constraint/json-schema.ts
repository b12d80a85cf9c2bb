/**
 * A JSON Schema as grammar rules. They cover the structure of values, but not bounds of numbers or
 * lengths and formats of strings.
 */
import { invalidRequest } from '../messages/invalid-request.js';
import { literal, type GrammarBuilder, type Sequence } from './grammar.js';
import { anyObject, anyValue, integer, number, space, string } from './json-value.js';

export type JsonSchema = Readonly<Record<string, unknown>>;

interface Context {
  readonly grammar: GrammarBuilder;
  /** What `$ref` points into. */
  readonly root: JsonSchema;
}

/** Maximum for `minItems` and `maxItems`. */
const maxCount = 64;

/** Maximum nesting of schemas. */
const maxDepth = 100;

/** Keywords for structure that the rules cannot express. */
const unsupported = [
  'not',
  'if',
  'then',
  'else',
  'patternProperties',
  'propertyNames',
  'dependentSchemas',
  'dependentRequired',
  'unevaluatedProperties',
  'unevaluatedItems',
  'contains',
  'minProperties',
  'maxProperties',
  '$dynamicRef',
];

/**
 * Properties come in the order of the schema; other properties are allowed only with
 * `additionalProperties`.
 * @param path of the schema, for errors
 * @throws ModelError 400 naming a keyword that is not supported
 */
export function schemaRule(grammar: GrammarBuilder, schema: JsonSchema, path: string): number {
  return ruleOf({ grammar, root: schema }, schema, path);
}

function ruleOf(context: Context, schema: unknown, path: string): number {
  const { grammar } = context;
  if (schema === true) return anyValue(grammar);
  if (path.split('.').length > maxDepth)
    throw invalidRequest(
      `${path.slice(0, 80)}...`,
      'is nested too deeply',
      `at most ${maxDepth} levels`,
    );
  if (!isSchema(schema))
    throw invalidRequest(path, `is ${JSON.stringify(schema)}`, 'a schema that allows some value');
  const keyword = unsupported.find((name) => Object.hasOwn(schema, name));
  if (keyword !== undefined)
    throw invalidRequest(
      `${path}.${keyword}`,
      'is not supported while decoding',
      `a schema without ${unsupported.join(', ')}`,
    );
  if (schema['$ref'] !== undefined) return referenceRule(context, schema['$ref'], path);
  if (schema['const'] !== undefined)
    return grammar.rule([literal(JSON.stringify(schema['const']))]);
  if (Array.isArray(schema['enum']))
    return grammar.rule(schema['enum'].map((value) => literal(JSON.stringify(value))));
  for (const keyword of ['anyOf', 'oneOf']) {
    const options = schema[keyword];
    if (Array.isArray(options))
      return grammar.rule(
        options.map((option, i) => [ruleOf(context, option, `${path}.${keyword}[${i}]`)]),
      );
  }
  if (Array.isArray(schema['allOf'])) return intersection(context, schema, path);
  return typedRule(context, schema, path);
}

function typedRule(context: Context, schema: JsonSchema, path: string): number {
  const { grammar } = context;
  const given =
    schema['type'] ??
    (isSchema(schema['properties'])
      ? 'object'
      : schema['items'] === undefined
        ? undefined
        : 'array');
  if (given === undefined) return anyValue(grammar);
  const types: readonly unknown[] = Array.isArray(given) ? given : [given];
  const all = schema['nullable'] === true ? [...types, 'null'] : types;
  return grammar.rule(all.map((type) => [ofType(context, type, schema, path)]));
}

function ofType(context: Context, type: unknown, schema: JsonSchema, path: string): number {
  const { grammar } = context;
  const make: Readonly<Record<string, () => number>> = {
    string: () => string(grammar),
    integer: () => integer(grammar),
    number: () => number(grammar),
    boolean: () => grammar.rule([literal('true'), literal('false')]),
    null: () => grammar.rule([literal('null')]),
    object: () => objectRule(context, schema, path),
    array: () => arrayRule(context, schema, path),
  };
  if (typeof type !== 'string' || !Object.hasOwn(make, type))
    throw invalidRequest(
      `${path}.type`,
      `is ${JSON.stringify(type)}`,
      Object.keys(make).join(', '),
    );
  return make[type]!();
}

/** For one schema only: the intersection of several cannot be written as simple rules. */
function intersection(context: Context, schema: JsonSchema, path: string): number {
  const { allOf, ...rest } = schema;
  const [only, ...others] = allOf as readonly unknown[];
  if (others.length > 0 || !isSchema(only))
    throw invalidRequest(
      `${path}.allOf`,
      'is not supported while decoding with several schemas',
      'one schema in it',
    );
  return ruleOf(context, { ...rest, ...only }, `${path}.allOf[0]`);
}

/** `#` and paths below it; a schema may refer to itself. */
function referenceRule(context: Context, reference: unknown, path: string): number {
  const { grammar, root } = context;
  const parts =
    typeof reference === 'string' && reference.startsWith('#')
      ? reference.slice(1).split('/').slice(1)
      : undefined;
  const names = parts?.map((part) =>
    decodeURIComponent(part).replaceAll('~1', '/').replaceAll('~0', '~'),
  );
  const found = names?.reduce<unknown>((at, name) => (at as JsonSchema | undefined)?.[name], root);
  if (found === undefined)
    throw invalidRequest(
      `${path}.$ref`,
      `is ${JSON.stringify(reference)}`,
      'the path of a schema in the same document',
    );
  const key = `ref ${String(reference)}`;
  let fresh = false;
  const rule = grammar.once(key, () => {
    fresh = true;
    return grammar.declare();
  });
  if (fresh) grammar.define(rule, [[ruleOf(context, found, `${path}.$ref`)]]);
  return rule;
}

function objectRule(context: Context, schema: JsonSchema, path: string): number {
  const { grammar } = context;
  const { additionalProperties: additional, required } = schema;
  const properties = Object.entries(isSchema(schema['properties']) ? schema['properties'] : {});
  if (properties.length === 0 && (additional === undefined || additional === true))
    return anyObject(grammar);
  const gap = space(grammar);
  const member = (key: Sequence, value: number): Sequence => [
    ...key,
    ...literal(':'),
    gap,
    value,
    gap,
  ];
  const others =
    additional === undefined || additional === false
      ? []
      : [member([string(grammar)], ruleOf(context, additional, `${path}.additionalProperties`))];
  const members = properties.map(([name, value]) => ({
    text: member(
      literal(JSON.stringify(name)),
      ruleOf(context, value, `${path}.properties.${name}`),
    ),
    isRequired: Array.isArray(required) && required.includes(name),
  }));
  const comma = [...literal(','), gap];
  /** The rest of the object behind a member, and where none has been written. */
  let afterMember = grammar.declare();
  grammar.define(afterMember, [
    literal('}'),
    ...others.map((other) => [...comma, ...other, afterMember]),
  ]);
  let atStart = grammar.rule([literal('}'), ...others.map((other) => [...other, afterMember])]);
  for (const { text, isRequired } of members.toReversed()) {
    const next = afterMember;
    const withText = [...text, next];
    atStart = grammar.rule(isRequired ? [withText] : [withText, [atStart]]);
    afterMember = grammar.rule(
      isRequired ? [[...comma, ...withText]] : [[...comma, ...withText], [next]],
    );
  }
  return grammar.rule([[...literal('{'), gap, atStart]]);
}

function arrayRule(context: Context, schema: JsonSchema, path: string): number {
  const { grammar } = context;
  const least = countOf(schema, 'minItems', path) ?? 0;
  const most = countOf(schema, 'maxItems', path);
  const gap = space(grammar);
  const prefix = Array.isArray(schema['prefixItems']) ? (schema['prefixItems'] as unknown[]) : [];
  const items =
    schema['items'] === false
      ? undefined
      : ruleOf(context, schema['items'] ?? true, `${path}.items`);
  const itemAt = (i: number): number | undefined =>
    i < prefix.length
      ? ruleOf(context, prefix[i], `${path}.prefixItems[${i}]`)
      : most !== undefined && i >= most
        ? undefined
        : items;
  const counted = Math.max(least, most ?? 0, prefix.length);
  const close = literal(']');
  const unbounded = (): number => {
    const rule = grammar.declare();
    const item = most === undefined ? items : undefined;
    grammar.define(rule, [
      close,
      ...(item === undefined ? [] : [[...literal(','), gap, item, gap, rule]]),
    ]);
    return rule;
  };
  let rest = unbounded();
  for (let i = counted - 1; i >= 0; i--) {
    const item = itemAt(i);
    const comma = i === 0 ? [] : [...literal(','), gap];
    const written = item === undefined ? [] : [[...comma, item, gap, rest]];
    rest = grammar.rule([...(i >= least ? [close] : []), ...written]);
  }
  if (counted === 0 && items !== undefined && most === undefined)
    rest = grammar.rule([close, [items, gap, rest]]);
  return grammar.rule([[...literal('['), gap, rest]]);
}

function countOf(schema: JsonSchema, keyword: string, path: string): number | undefined {
  const value = schema[keyword];
  if (value === undefined) return undefined;
  if (Number.isInteger(value) && (value as number) >= 0 && (value as number) <= maxCount)
    return value as number;
  throw invalidRequest(
    `${path}.${keyword}`,
    `is ${JSON.stringify(value)}`,
    `an integer from 0 to ${maxCount}`,
  );
}

const isSchema = (value: unknown): value is JsonSchema =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
