import { describe, expect, it } from 'vitest';
import { argumentsWithoutNulls, schemaWithoutNulls, toolWithoutNulls } from './null-members.js';

const city = { type: 'string' };
const schema = (properties: object, more: object = {}) => ({ type: 'object', properties, ...more });

describe('arguments that are null', () => {
  const all = { a: null, b: null };
  it.each<readonly [string, object, unknown, unknown]>([
    ['go if the tool has none of that name', schema({ city }), all, {}],
    ['go if the schema of that name is null', schema({ city, a: null, b: null }), all, {}],
    ['go with these if their type is another', schema({ a: { type: 'integer' } }), all, {}],
    ['go within an object', schema({ a: schema({ city }) }), { a: all }, { a: {} }],
    [
      'go within a list',
      schema({ a: { type: 'array', items: schema({ city }) } }),
      { a: [all] },
      { a: [{}] },
    ],
  ])('%s', (_, parameters, args, expected) => {
    expect(argumentsWithoutNulls(args, parameters)).toEqual(expected);
  });

  it.each<readonly [string, object]>([
    ['are required', schema({ a: city }, { required: ['a'] })],
    ['have a type that may be null', schema({ a: { type: ['string', 'null'] } })],
    ['are nullable', schema({ a: { ...city, nullable: true } })],
    ['are null by default', schema({ a: { ...city, default: null } })],
    ['have a schema of which one may be null', schema({ a: { anyOf: [city, { type: 'null' }] } })],
    ['have null as one of their values', schema({ a: { enum: ['x', null] } })],
    ['have a schema that is elsewhere', schema({ a: { $ref: '#/$defs/a' } })],
    ['have a schema that refers', schema({ a: { allOf: [{ $ref: '#/$defs/a' }] } })],
  ])('stay, unlike others, if they %s', (_, parameters) => {
    expect(argumentsWithoutNulls(all, parameters)).toEqual({ a: null });
  });

  it.each<readonly [string, object]>([
    ['the tool has all of them', schema({ a: city, b: city })],
    ['the tool takes any', schema({ a: city }, { additionalProperties: true })],
    ['the tool takes names like these', schema({}, { patternProperties: { '.*': city } })],
    ['nothing is known of the tool', { type: 'object' }],
  ])('stay, because a model may have written them, if %s', (_, parameters) => {
    expect(argumentsWithoutNulls(all, parameters)).toEqual(all);
  });
});

it('removes the members of a schema that are null, but no values that may be null', () => {
  const optional = { anyOf: [city, { type: 'null' }], default: null };
  const full = schema({
    city: { ...city, enum: null, const: null },
    a: null,
    optional,
    default: null,
  });
  expect(schemaWithoutNulls({ ...full, required: null, $defs: { b: null } })).toEqual({
    ...schema({ city, optional }),
    $defs: {},
  });
  const values = { enum: ['x', null], examples: [{ a: null }] };
  for (const kept of [values, { ...city, default: null }, { type: 'null', const: null }])
    expect(schemaWithoutNulls(kept)).toEqual(kept);
  expect(schemaWithoutNulls({ description: 'x', enum: null })).toEqual({ description: 'x' });
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
