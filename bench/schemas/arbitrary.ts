/** Random JSON Schemas like those that programs send: keywords of all kinds, combined and nested. */
import fc from 'fast-check';

export type Schema = boolean | { readonly [keyword: string]: unknown };

const name = fc.constantFrom(
  'a',
  'b',
  'c',
  'id',
  'kind',
  'größe',
  'x"y',
  '日本',
  'a/b~c',
  '😀',
  '',
);
const names = fc.uniqueArray(name, { minLength: 1, maxLength: 3 });
const pattern = fc.constantFrom(
  '^a+$',
  'b',
  '^[a-z]{2,4}$',
  '^(?!x).*\\d$',
  '^\\p{Lu}\\w*$',
  '^(?:[A-Z]{2}-\\d{3}|none)$',
  '[^é]$',
  '^x',
  '^(?=.*1)[0-9a-f]+$',
);
const scalar = fc.oneof(
  fc.constantFrom('a', 'b', 'x1', 'none', '', 'ab', 'ä"\\\n', '😀'),
  fc.integer({ min: -20, max: 20 }),
  fc.constantFrom(0.5, -2.25, 1e21, 1.5e-7),
  fc.boolean(),
  fc.constant(null),
);
const value = fc.oneof(
  { weight: 5, arbitrary: scalar },
  { weight: 1, arbitrary: fc.array(scalar, { maxLength: 2 }) },
  { weight: 1, arbitrary: fc.dictionary(name, scalar, { maxKeys: 2, noNullPrototype: true }) },
);
const count = fc.integer({ min: 0, max: 4 });
const limit = fc.oneof(
  fc.integer({ min: -120, max: 120 }),
  fc.constantFrom(0.5, -0.75, 3.14159, 1e-6, 2 ** 31, -(2 ** 53), 1e9, -3.4028234663852886e38),
);
const format = fc.constantFrom(
  ...['date', 'time', 'date-time', 'duration', 'email', 'hostname', 'ipv4', 'ipv6', 'uuid', 'uri'],
);

/** A random subset of the keywords. */
const some = (keywords: Readonly<Record<string, fc.Arbitrary<unknown>>>): fc.Arbitrary<object> =>
  fc.record(keywords, { requiredKeys: [], noNullPrototype: true });

/**
 * String schemas. Pattern, format and lengths rarely allow a common value, so they are not combined at
 * random.
 */
const strings = fc.oneof(
  some({ minLength: count, maxLength: fc.integer({ min: 2, max: 60 }), pattern }),
  some({ maxLength: fc.integer({ min: 60, max: 2000 }), format }),
);
const numbers = some({
  minimum: limit,
  maximum: limit,
  exclusiveMinimum: limit,
  exclusiveMaximum: limit,
  multipleOf: fc.integer({ min: 1, max: 12 }),
});

const reference = fc.oneof(
  { weight: 1, arbitrary: fc.constantFrom('#', '#/$defs/no') },
  { weight: 12, arbitrary: fc.constantFrom('#/$defs/one', '#/$defs/two', '#/$defs/a~1b') },
);

function schemas(depth: number): fc.Arbitrary<Schema> {
  const leaf = fc.oneof(
    strings.map((each) => ({ type: 'string', ...each })),
    numbers.map((each) => ({ type: 'number', ...each })),
    numbers.map((each) => ({ type: 'integer', ...each })),
    fc.constantFrom(
      { type: 'boolean' },
      { type: 'null' },
      {},
      { type: ['string', 'null'] },
      { type: ['integer', 'string'], minLength: 1, minimum: 0 },
    ),
    fc
      .uniqueArray(value, { minLength: 1, maxLength: 4, selector: (each) => JSON.stringify(each) })
      .map((each) => ({ enum: each })),
    value.map((each) => ({ const: each })),
    fc.constant(true),
    fc.oneof(
      { weight: 6, arbitrary: fc.constant<Schema>({ type: 'string' }) },
      { weight: 1, arbitrary: fc.constant<Schema>(false) },
    ),
    reference.map(($ref) => ({ $ref })),
  );
  if (depth === 0) return leaf;
  const inner = schemas(depth - 1);
  const few = fc.array(inner, { minLength: 1, maxLength: 3 });
  const properties = fc.dictionary(name, inner, { maxKeys: 3, noNullPrototype: true });
  const objects = some({
    properties,
    required: names,
    additionalProperties: inner,
    patternProperties: fc.dictionary(pattern, inner, { maxKeys: 2, noNullPrototype: true }),
    propertyNames: fc.oneof(
      strings,
      names.map((each) => ({ enum: each })),
    ),
    minProperties: fc.integer({ min: 0, max: 2 }),
    maxProperties: fc.integer({ min: 1, max: 4 }),
    unevaluatedProperties: inner,
    dependentRequired: fc.dictionary(name, names, { maxKeys: 1, noNullPrototype: true }),
    dependentSchemas: fc.dictionary(name, inner, { maxKeys: 1, noNullPrototype: true }),
  });
  const arrays = some({
    items: inner,
    prefixItems: few,
    minItems: count,
    maxItems: fc.integer({ min: 1, max: 100 }),
  });
  const refused = fc.constantFrom(
    { contains: {} },
    { uniqueItems: true },
    { unevaluatedItems: false },
  );
  const plainObject = fc.record(
    { type: fc.constant('object'), properties, additionalProperties: fc.constant(false) },
    { noNullPrototype: true },
  );
  const tagged = fc
    .uniqueArray(fc.constantFrom('cat', 'dog', 'cow'), { minLength: 2 })
    .chain((kinds) =>
      fc.tuple(
        ...kinds.map((kind) =>
          inner.map((each) => ({
            type: 'object',
            properties: { kind: { const: kind }, a: each },
            required: ['kind'],
          })),
        ),
      ),
    );
  const combined = some({
    anyOf: few,
    oneOf: fc.oneof(few, tagged),
    allOf: few,
    not: inner,
    ...Object.fromEntries(['if', 'then', 'else'].map((keyword) => [keyword, inner])),
    $ref: reference,
    nullable: fc.boolean(),
  });
  const object = fc.oneof(
    plainObject,
    objects.map((each) => ({ type: 'object', ...each })),
  );
  const array = fc
    .tuple(
      arrays,
      fc.oneof({ weight: 30, arbitrary: fc.constant({}) }, { weight: 1, arbitrary: refused }),
    )
    .map(([each, other]) => ({ type: 'array', ...each, ...other }));
  return fc.oneof(
    { weight: 3, arbitrary: leaf },
    { weight: 4, arbitrary: object },
    { weight: 2, arbitrary: array },
    { weight: 1, arbitrary: tagged.map((options) => ({ oneOf: options })) },
    { weight: 1, arbitrary: few.map((options) => ({ anyOf: options })) },
    {
      weight: 2,
      arbitrary: fc
        .tuple(fc.oneof(object, array, leaf), combined)
        .map(([a, b]) => (typeof a === 'boolean' ? b : { ...a, ...b }) as Schema),
    },
    {
      weight: 1,
      arbitrary: fc
        .tuple(strings, numbers, objects, combined)
        .map((all) => Object.assign({}, ...all) as Schema),
    },
  );
}

/** Documents with definitions that may refer to each other and to the whole document. */
export const documents: fc.Arbitrary<Exclude<Schema, boolean>> = fc
  .tuple(schemas(3), fc.record({ one: schemas(2), two: schemas(1), 'a/b': schemas(1) }))
  .map(([schema, $defs]) => ({
    ...(typeof schema === 'boolean' ? { anyOf: [schema] } : schema),
    $defs,
  }));
