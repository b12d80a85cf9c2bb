import { describe, expect, it } from 'vitest';
import { argumentsWithoutNulls, schemaWithoutNulls, toolWithoutNulls } from './null-members.js';

const city = { type: 'string' };
const schema = (properties: object, more: object = {}) => ({ type: 'object', properties, ...more });

describe('arguments that are null', () => {
  it.each<readonly [string, object, unknown, object]>([
    ['go if the tool has none of that name', schema({ city }), null, {}],
    ['go if the schema of that name is null', schema({ city, a: null }), null, {}],
    ['go if their type is another', schema({ a: { type: 'integer' } }), null, {}],
    ['stay if they are required', schema({ a: city }, { required: ['a'] }), null, { a: null }],
    [
      'stay if their type may be null',
      schema({ a: { type: ['string', 'null'] } }),
      null,
      { a: null },
    ],
    ['stay if they are nullable', schema({ a: { ...city, nullable: true } }), null, { a: null }],
    [
      'stay if one schema of them is null',
      schema({ a: { anyOf: [city, { type: 'null' }] } }),
      null,
      { a: null },
    ],
    [
      'stay if null is one of their values',
      schema({ a: { enum: ['x', null] } }),
      null,
      { a: null },
    ],
    ['stay if their schema is elsewhere', schema({ a: { $ref: '#/$defs/a' } }), null, { a: null }],
    ['stay if the tool takes any', schema({}, { additionalProperties: true }), null, { a: null }],
    ['stay if nothing is known of the tool', { type: 'object' }, null, { a: null }],
    [
      'go within an object',
      schema({ a: schema({ city }) }),
      { city: 'Oslo', b: null },
      { a: { city: 'Oslo' } },
    ],
    [
      'go within a list',
      schema({ a: { type: 'array', items: schema({ city }) } }),
      [{ b: null }],
      { a: [{}] },
    ],
  ])('%s', (_, parameters, a, expected) => {
    expect(argumentsWithoutNulls({ a }, parameters)).toEqual(expected);
  });
});

it('removes the members of a schema that are null, but no values that may be null', () => {
  const optional = { anyOf: [city, { type: 'null' }], default: null };
  const full = schema({
    city: { ...city, enum: null, default: null },
    a: null,
    optional,
    default: null,
  });
  expect(schemaWithoutNulls({ ...full, required: null, $defs: { b: null } })).toEqual({
    ...schema({ city, optional }),
    $defs: {},
  });
  const values = { enum: ['x', null], examples: [{ a: null }] };
  expect(schemaWithoutNulls(values)).toEqual(values);
});

it('removes the members of a tool that are null', () => {
  const parameters = { ...schema({ city, a: null }), $defs: null };
  expect(
    toolWithoutNulls({
      type: 'function',
      name: null,
      function: { name: 'f', strict: null, parameters },
    }),
  ).toEqual({ type: 'function', function: { name: 'f', parameters: schema({ city }) } });
});
