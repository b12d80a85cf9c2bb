/** Negates a schema; the result is a list of alternative schemas. */
import { isObject } from '../../json/object.js';
import { unsupportedKeyword } from './keywords.js';
import {
  excludedIntegers,
  excludedPattern,
  excludedValues,
  types,
  type JsonSchema,
  type SchemaNode,
} from './types.js';

type Alternatives = readonly unknown[];

const not = (schema: unknown): JsonSchema => ({ not: schema });

/**
 * For each keyword, a function that returns alternative schemas for the values that violate the
 * keyword. The function returns undefined if schemas cannot express these values.
 */
const opposites: Readonly<Record<string, (value: never) => Alternatives | undefined>> = {
  not: (schema: unknown) => [schema],
  allOf: (schemas: unknown[]) => schemas.map(not),
  anyOf: (schemas: unknown[]) => [{ allOf: schemas.map(not) }],
  oneOf: (schemas: unknown[]) => [
    { allOf: schemas.map(not) },
    ...schemas.flatMap((a, i) => schemas.slice(i + 1).map((b) => ({ allOf: [a, b] }))),
  ],
  type: (given: string | readonly string[]) => {
    const names = new Set<string>([given].flat());
    const others = [{ type: types.filter((type) => !names.has(type)) }];
    if (!names.has('integer') || names.has('number')) return others;
    return [
      { type: types.filter((type) => type !== 'number' && !names.has(type)) },
      { type: 'number', [excludedIntegers]: true },
    ];
  },
  const: (value: unknown) => [{ [excludedValues]: [value] }],
  enum: (values: unknown[]) => [{ [excludedValues]: values }],
  required: (names: string[]) =>
    names.map((name) => ({ type: 'object', properties: { [name]: false } })),
  properties: (schemas: JsonSchema) =>
    Object.entries(schemas).map(([name, schema]) => ({
      type: 'object',
      required: [name],
      properties: { [name]: not(schema) },
    })),
  pattern: (pattern: string) => [{ type: 'string', [excludedPattern]: pattern }],
  minLength: (count: number) => below('string', 'maxLength', count),
  maxLength: (count: number) => [{ type: 'string', minLength: count + 1 }],
  minItems: (count: number) => below('array', 'maxItems', count),
  maxItems: (count: number) => [{ type: 'array', minItems: count + 1 }],
  minProperties: (count: number) => below('object', 'maxProperties', count),
  maxProperties: (count: number) => [{ type: 'object', minProperties: count + 1 }],
  minimum: (value: number) => [{ type: 'number', exclusiveMaximum: value }],
  maximum: (value: number) => [{ type: 'number', exclusiveMinimum: value }],
  exclusiveMinimum: (value: number) => [{ type: 'number', maximum: value }],
  exclusiveMaximum: (value: number) => [{ type: 'number', minimum: value }],
  // No value violates a trivial schema, so its list of alternatives is empty.
  items: (schema: unknown) => (isTrivial(schema) ? [] : undefined),
  additionalProperties: (schema: unknown) => (isTrivial(schema) ? [] : undefined),
};

/** Keywords whose negation cannot be expressed. */
const irreversible = [
  'if',
  'nullable',
  'dependencies',
  'dependentRequired',
  'dependentSchemas',
  'patternProperties',
  'propertyNames',
  'unevaluatedProperties',
  'prefixItems',
  'additionalItems',
  'uniqueItems',
  'format',
  'multipleOf',
];

const below = (type: string, keyword: string, count: number): Alternatives =>
  count === 0 ? [] : [{ type, [keyword]: count - 1 }];

const isTrivial = (schema: unknown): boolean =>
  schema === true || (isObject(schema) && Object.keys(schema).length === 0);

/**
 * Negates a schema: returns alternative schemas, of which a value satisfies at least one if and
 * only if it violates the given schema.
 * @param resolve returns the schema to which a reference points
 * @throws ModelError 400 naming a keyword that cannot be negated
 */
export function negate(
  { schema, path }: SchemaNode,
  resolve: (reference: unknown) => unknown,
): Alternatives {
  return Object.entries(schema).flatMap(([keyword, value]) => {
    if (keyword === '$ref') return [not(resolve(value))];
    const opposite = Object.hasOwn(opposites, keyword)
      ? opposites[keyword]!(value as never)
      : irreversible.includes(keyword)
        ? undefined
        : [];
    if (opposite) return opposite;
    throw unsupportedKeyword(
      `${path}.${keyword}`,
      'options of oneOf that exclude each other, and nothing in not or if but type, const, enum, required, properties and bounds',
    );
  });
}
