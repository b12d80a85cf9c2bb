/** The keywords of JSON Schema that are supported, and the keywords that are refused. */
import { isObject } from '../../json/object.js';
import { invalidRequest, quote } from '../../messages/invalid-request.js';
import { type JsonSchema, type SchemaNode } from './types.js';

const isCount = (value: unknown): boolean => Number.isSafeInteger(value) && (value as number) >= 0;
const isNumber = (value: unknown): boolean => typeof value === 'number';
const isString = (value: unknown): boolean => typeof value === 'string';
const isAny = (value: unknown): boolean => isObject(value) || typeof value === 'boolean';
const isList = (value: unknown): boolean => Array.isArray(value);
const isNameList = (value: unknown): boolean => Array.isArray(value) && value.every(isString);

type Shape = readonly [test: (value: unknown) => boolean, expected: string];

const count: Shape = [isCount, 'an integer from 0'];
const bound: Shape = [isNumber, 'a number'];
const text: Shape = [isString, 'a string'];
const schema: Shape = [isAny, 'a schema'];
const schemas: Shape = [isObject, 'an object of schemas'];
const options: Shape = [
  (value) => Array.isArray(value) && value.length > 0 && value.every(isAny),
  'a list of schemas',
];

/** Expected shape of a keyword's value, by keyword. */
const shapes: Readonly<Record<string, Shape>> = {
  $ref: text,
  enum: [(value) => Array.isArray(value) && value.length > 0, 'a list of values'],
  allOf: options,
  anyOf: options,
  oneOf: options,
  ...Object.fromEntries(['not', 'if', 'then', 'else'].map((keyword) => [keyword, schema])),
  dependentSchemas: schemas,
  dependentRequired: [isObject, 'an object of lists'],
  dependencies: [isObject, 'an object of schemas or lists'],
  properties: schemas,
  patternProperties: schemas,
  additionalProperties: schema,
  unevaluatedProperties: schema,
  propertyNames: schema,
  required: [isNameList, 'a list of names'],
  minProperties: count,
  maxProperties: count,
  prefixItems: [isList, 'a list of schemas'],
  items: [(value) => isAny(value) || isList(value), 'a schema'],
  additionalItems: schema,
  uniqueItems: [(value) => typeof value === 'boolean', 'true or false'],
  minItems: count,
  maxItems: count,
  minLength: count,
  maxLength: count,
  pattern: text,
  format: text,
  minimum: bound,
  maximum: bound,
  exclusiveMinimum: bound,
  exclusiveMaximum: bound,
  multipleOf: [
    (value) => Number.isSafeInteger(value) && (value as number) > 0 && (value as number) <= 256,
    'an integer from 1 to 256: validators divide other numbers with rounding errors',
  ],
};

const unsupported: readonly string[] = [
  'contains',
  'unevaluatedItems',
  '$dynamicRef',
  '$recursiveRef',
];

/**
 * Checks that the keywords of a schema are supported and have valid values.
 * @throws ModelError 400 naming a keyword that is not supported or has a wrong value
 */
export function checkKeywords({ schema: given, path }: SchemaNode, isRoot: boolean): void {
  for (const [keyword, value] of Object.entries(given)) {
    if (unsupported.includes(keyword) || (keyword === '$id' && !isRoot))
      throw unsupportedKeyword(`${path}.${keyword}`, `a schema without ${unsupported.join(', ')}`);
    const [test, expected] = Object.hasOwn(shapes, keyword) ? shapes[keyword]! : [];
    if (test && value !== undefined && !test(value))
      throw invalidRequest(`${path}.${keyword}`, `is ${quote(value)}`, expected!);
  }
}

export const unsupportedKeyword = (
  path: string,
  expected: string,
): ReturnType<typeof invalidRequest> =>
  invalidRequest(path, 'is not supported while decoding', expected);

/**
 * Keywords by the type of value that they restrict. Values of other types always satisfy these
 * keywords.
 */
const keywordTypes: Readonly<Record<string, readonly string[]>> = {
  object: [
    'properties',
    'patternProperties',
    'additionalProperties',
    'propertyNames',
    'required',
    'minProperties',
    'maxProperties',
  ],
  array: ['items', 'prefixItems', 'additionalItems', 'minItems', 'maxItems', 'uniqueItems'],
  string: ['minLength', 'maxLength', 'pattern', 'format'],
  number: ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf'],
};

export const hasKeywordsOf = (given: JsonSchema, type: string): boolean =>
  (keywordTypes[type] ?? []).some((keyword) => given[keyword] !== undefined);
