import type { ToolDefinition } from '@trinity-rft/core';
import type { TextGrammar } from '@trinity-rft/core/engine';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { hermes } from '../tool-call-parser/hermes.js';
import { llama3Json } from '../tool-call-parser/llama3-json.js';
import { mistral } from '../tool-call-parser/mistral.js';
import { responseGrammar, type ResponseConstraint, type WritingStyle } from './response-grammar.js';

const plain: WritingStyle = {
  reasoning: 'none',
  call: hermes.syntax,
  controlTokens: new Map(),
};

/** Every index of `bytes` at which a text of the rule can end. */
function ends(
  { rules }: TextGrammar,
  rule: number,
  bytes: Uint8Array,
  from: number,
  known = new Map<string, Set<number>>(),
): Set<number> {
  const seen = known.get(`${rule} ${from}`);
  if (seen) return seen;
  const found = new Set<number>();
  known.set(`${rule} ${from}`, found);
  for (const sequence of rules[rule]!) {
    let places = new Set([from]);
    for (const symbol of sequence) {
      const after = [...places].flatMap((at) => {
        if (typeof symbol === 'number')
          return [...ends({ rules, controlTokenIds: [] }, symbol, bytes, at, known)];
        const byte = bytes[at];
        return byte !== undefined &&
          symbol.some((low, i) => i % 2 === 0 && byte >= low && byte <= symbol[i + 1]!)
          ? [at + 1]
          : [];
      });
      places = new Set(after);
    }
    for (const place of places) found.add(place);
  }
  return found;
}

function accepts(grammar: TextGrammar | undefined, text: string): boolean {
  const bytes = new TextEncoder().encode(text);
  return ends(grammar!, 0, bytes, 0).has(bytes.length);
}

const ofSchema = (schema: object): ResponseConstraint => ({
  json: {
    type: 'json_schema',
    schema: schema as Record<string, unknown>,
    param: 'response_format',
  },
});
const acceptsFor = (schema: object, text: string): boolean =>
  accepts(responseGrammar(ofSchema(schema), plain), text);

describe('responseGrammar', () => {
  it('takes objects with thousands of properties', () => {
    const names = Array.from({ length: 9000 }, (_, i) => `p${i}`);
    const properties = Object.fromEntries(names.map((name) => [name, { type: 'null' }]));
    const all = responseGrammar(ofSchema({ type: 'object', properties, required: names }), plain);
    expect(all?.rules.length).toBeGreaterThan(9000);
    expect(acceptsFor({ type: 'object', maxProperties: 20_000 }, '{"a": 1}')).toBe(true);
  });

  it('takes any JSON object that a program prints for json_object, and no other value', () => {
    const grammar = responseGrammar(
      { json: { type: 'json_object', param: 'response_format' } },
      plain,
    );
    fc.assert(
      fc.property(
        fc.dictionary(fc.string({ unit: 'grapheme' }), fc.jsonValue(), { maxKeys: 3 }),
        (value) => {
          fc.pre(
            !/[eE]|\d{16}/.test(JSON.stringify(value)) &&
              Object.keys(value).every((key) => key.isWellFormed()),
          );
          expect(accepts(grammar, JSON.stringify(value))).toBe(true);
          expect(accepts(grammar, JSON.stringify(value, null, 2))).toBe(true);
        },
      ),
      { numRuns: 60 },
    );
    for (const text of [
      '1',
      '[]',
      '{',
      '{"a"}',
      '{"a":1,}',
      '{a:1}',
      '{"a":01}',
      '{"a":"\n"}',
      ' {}',
      '{"a":tru}',
    ])
      expect([text, accepts(grammar, text)]).toEqual([text, false]);
  });

  const person = {
    type: 'object',
    properties: {
      name: { type: 'string' },
      age: { type: 'integer', minimum: 0 },
      role: { enum: ['admin', 'user'] },
      tags: { type: 'array', items: { type: 'string' }, maxItems: 2 },
    },
    required: ['name', 'role'],
    additionalProperties: false,
  };

  it.for([
    ['{"name": "Ada", "age": 36, "role": "admin", "tags": ["x", "y"]}', true],
    ['{"name":"Ada","role":"user"}', true],
    ['{"name":"Ada","role":"user","tags":[]}', true],
    ['{\n  "name": "Ada",\n  "role": "user"\n}', true],
    ['{"role":"user","name":"Ada"}', false],
    ['{"name":"Ada"}', false],
    ['{"name":"Ada","role":"root"}', false],
    ['{"name":"Ada","age":3.5,"role":"user"}', false],
    ['{"name":"Ada","role":"user","more":1}', false],
    ['{"name":"Ada","role":"user","tags":["x","y","z"]}', false],
    ['{"name":"Ada","role":"user",}', false],
  ] as const)('keeps to the properties of a schema: %s is %s', ([text, expected]) => {
    expect(acceptsFor(person, text)).toBe(expected);
  });

  it('follows references, also of a schema to itself', () => {
    const tree = {
      $ref: '#/$defs/node',
      $defs: { node: { type: 'array', items: { $ref: '#/$defs/node' } } },
    };
    expect(['[]', '[[], [[]]]', '[1]'].map((text) => acceptsFor(tree, text))).toEqual([
      true,
      true,
      false,
    ]);
  });

  it.for([
    [{ anyOf: [{ type: 'integer' }, { type: 'null' }] }, ['12', 'null'], ['"12"', '1.5']],
    [{ type: ['string', 'null'] }, ['"a"', 'null'], ['1']],
    [{ const: { a: 1 } }, ['{"a":1}'], ['{"a":2}']],
    [
      { type: 'array', minItems: 2, items: { type: 'boolean' } },
      ['[true,false]', '[true, true, true]'],
      ['[true]', '[]'],
    ],
    [
      { type: 'array', prefixItems: [{ type: 'integer' }, { type: 'string' }], items: false },
      ['[1,"a"]', '[1]'],
      ['["a"]', '[1,"a",2]'],
    ],
    [
      { type: 'object', additionalProperties: { type: 'integer' } },
      ['{}', '{"x":1, "y":2}'],
      ['{"x":"1"}'],
    ],
    [{ allOf: [{ type: 'integer' }] }, ['1'], ['"1"']],
    [{}, ['1', '[]', '{"a":null}'], ['nul']],
    [
      {
        type: 'object',
        properties: { a: { type: 'integer' }, b: { type: 'integer' } },
        additionalProperties: false,
        anyOf: [{ required: ['a'] }, { required: ['b'] }],
      },
      ['{"a":1}', '{"b":2}', '{"a":1,"b":2}'],
      ['1', '{}', '{"c":1}'],
    ],
    [{ enum: [1, 'a', null], type: ['string', 'integer'], minLength: 1 }, ['1', '"a"'], ['null']],
    [
      { $ref: '#/$defs/a', required: ['b'], $defs: { a: { properties: { b: { const: 1 } } } } },
      ['{"b":1}'],
      ['{}', '{"b":2}', '1'],
    ],
    [{ type: 'object', required: ['a'] }, ['{"a":1}', '{"a":[]}'], ['{}', '{"b":1}']],
    [
      {
        oneOf: [
          { type: 'string', pattern: '^a' },
          { type: 'string', maxLength: 2 },
        ],
      },
      ['"b"', '"abc"'],
      ['"a"', '"bcd"'],
    ],
    [{ not: { enum: ['a', null] }, type: ['string', 'null'] }, ['"b"', '"aa"'], ['"a"', 'null']],
    [
      {
        type: 'object',
        properties: { kind: { enum: ['x', 'y'] }, v: { type: 'integer' } },
        required: ['kind'],
        if: { properties: { kind: { const: 'y' } } },
        else: { required: ['v'] },
      },
      ['{"kind":"y"}', '{"kind":"x","v":1}'],
      ['{"kind":"x"}'],
    ],
    [
      {
        type: 'object',
        properties: { a: { type: 'integer' } },
        additionalProperties: { type: 'null' },
      },
      ['{"a":1,"b":null}', '{"aa":null}'],
      ['{"a":null}', '{"a":1,"a":null}', '{"\\u0061":null}'],
    ],
    [
      { type: 'array', items: [{ type: 'null' }], additionalItems: false },
      ['[null]', '[]'],
      ['[1]'],
    ],
    [{ type: 'number', exclusiveMinimum: -1, maximum: 2.5 }, ['-0.9', '0', '2.5'], ['-1', '2.51']],
    [
      { type: 'integer', minimum: 7, maximum: 1200, multipleOf: 6 },
      ['12', '1200'],
      ['6', '13', '1206'],
    ],
    [
      { type: 'string', minLength: 2, maxLength: 3 },
      ['"ab"', '"\\ud83d\\ude00x"'],
      ['"a"', '"\\ud83d\\ude00"'],
    ],
    [{ not: { const: [] }, type: ['array', 'null'] }, ['[1]', '[[]]', 'null'], ['[]', '{}']],
    [
      { not: { enum: ['a', {}] }, type: ['object', 'string'] },
      ['{"a":{}}', '"b"'],
      ['{}', '"a"', '[]'],
    ],
    [{ enum: [[], [1]], not: { const: [1] } }, ['[]'], ['[1]']],
    [{ format: 'date' }, ['"2024-02-29"'], ['"2023-02-29"', '"2023-2-1"']],
  ] as const)('reads %j', ([schema, good, bad]) => {
    for (const text of good) expect([text, acceptsFor(schema, text)]).toEqual([text, true]);
    for (const text of bad) expect([text, acceptsFor(schema, text)]).toEqual([text, false]);
  });

  it.for([
    [{ type: 'text' }, 'response_format.type is "text"'],
    [
      { type: 'array', items: { $ref: '#/$defs/missing' } },
      'response_format.items.$ref is "#/$defs/missing"',
    ],
    [{ $ref: '#/%' }, 'response_format.$ref is "#/%"'],
    [{ $ref: '#' }, 'response_format.$ref refers to itself'],
    [{ contains: { type: 'null' } }, 'response_format.contains is not supported'],
    [{ type: 'array', uniqueItems: true }, 'response_format.uniqueItems is not supported'],
    [{ not: { items: { type: 'null' } } }, 'response_format.not.items is not supported'],
    [
      { oneOf: [{ items: { type: 'null' } }, { type: 'array' }] },
      'response_format.oneOf[0].items is not supported',
    ],
    [{ multipleOf: 0.1 }, 'response_format.multipleOf is 0.1. Expected an integer'],
    [{ pattern: '(a)\\1' }, 'response_format.pattern is "(a)\\\\1", which cannot be enforced'],
    [
      { pattern: '^(?i:abc)$' },
      'response_format.pattern is "^(?i:abc)$", which cannot be enforced',
    ],
    [
      { type: 'integer', not: { const: 3 } },
      'response_format excludes the number 3, which a grammar cannot do. Expected the allowed numbers in enum',
    ],
    [{ not: { const: [1] } }, 'response_format.not excludes the array [1]'],
    [{ not: { enum: [null, { a: 1 }] } }, 'response_format.not excludes the object {"a":1}'],
    [
      {
        patternProperties: Object.fromEntries(
          Array.from({ length: 16 }, (_, i) => [`^x-.*${i}$`, { type: 'integer' }]),
        ),
      },
      'response_format is too large to be enforced',
    ],
    [{ pattern: '(' }, 'response_format.pattern is "("'],
    [
      { pattern: `^${'(?:a'.repeat(1500)}${')?'.repeat(1500)}$` },
      'it has more than 100 groups within each other',
    ],
    [
      { pattern: `^${'('.repeat(50_000)}a${')*'.repeat(50_000)}$` },
      'it has more than 100 groups within each other',
    ],
    [{ pattern: `^${'a?'.repeat(5000)}$` }, 'response_format is too large to be enforced'],
    [{ pattern: `^${'a*b*'.repeat(5000)}$` }, 'response_format is too large to be enforced'],
    [{ pattern: `^(?:${'ab'.repeat(20_000)})+$` }, 'response_format is too large to be enforced'],
    [
      { minProperties: 50_000, type: 'object' },
      'response_format allows no value that ends and can be enforced. Expected demands that do not contradict each other, numbers of at most 15 digits, and minProperties of at most one more than the listed properties',
    ],
    [
      {
        minProperties: 50_000,
        type: 'object',
        additionalProperties: true,
        propertyNames: { pattern: '^a' },
      },
      'response_format allows no value that ends',
    ],
    [
      { $ref: '#a', enum: Array.from({ length: 200_000 }, (_, i) => i) },
      'response_format.$ref is "#a"',
    ],
    [{ pattern: '(a|b)*a(a|b){14}$' }, 'response_format is too large to be enforced'],
    [{ minLength: -1 }, 'response_format.minLength is -1'],
    [{ anyOf: {} }, 'response_format.anyOf is {}'],
    [{ enum: ['a'], type: 'integer' }, 'response_format allows no value'],
    [
      { type: 'object', required: ['a'], additionalProperties: false },
      'response_format allows no value',
    ],
    [
      { type: 'object', required: ['a'], properties: { a: { $ref: '#' } } },
      'response_format allows no value that ends',
    ],
    [
      {
        allOf: Array.from({ length: 20 }, (_, i) => ({
          anyOf: [{ required: [`a${i}`] }, { required: [`b${i}`] }],
        })),
      },
      'response_format is too large to be enforced',
    ],
  ] as const)('refuses %j', ([schema, message]) => {
    const make = (): unknown => responseGrammar(ofSchema(schema), plain);
    expect(make).toThrow(
      expect.objectContaining({ name: 'ModelError', status: 400, code: 'invalid_request' }),
    );
    expect(make).toThrow(message);
  });

  it.each([
    ['optional parts', `^${'[a-z]?[0-9]?'.repeat(200)}$`, 'b7'],
    [
      'alternatives',
      Array.from({ length: 2000 }, (_, i) => ((i * 7919) % 100_003).toString(36)).join('|'),
      '.63z.',
    ],
  ])('enforces a pattern with many %s', (_, pattern, text) => {
    const texts = [text, '--'].map((each) => acceptsFor({ pattern }, JSON.stringify(each)));
    expect(texts).toEqual([true, false]);
  });

  it('enforces many patterns of names that have little in common', () => {
    const named = (patterns: readonly string[]): object => ({
      type: 'object',
      additionalProperties: false,
      patternProperties: Object.fromEntries(patterns.map((each) => [each, { type: 'integer' }])),
    });
    const suffixes = named(Array.from('abcdefghijkl', (each) => `_${each}x$`));
    expect(['{"n_ax":1}', '{"n_zx":1}'].map((text) => acceptsFor(suffixes, text))).toEqual([
      true,
      false,
    ]);
    const prefixes = named(Array.from('abcdefghijklmnopqrst', (each) => `^field_${each}`));
    expect(acceptsFor(prefixes, '{"field_t":1}')).toBe(true);
  });

  const tool = (name: string): ToolDefinition => ({
    type: 'function',
    function: {
      name,
      parameters: { type: 'object', properties: { x: { type: 'integer' } }, required: ['x'] },
    },
  });
  const call = (name: string, x: unknown): string =>
    `<tool_call>\n{"name": "${name}", "arguments": {"x": ${JSON.stringify(x)}}}\n</tool_call>`;
  const tools = [tool('add'), tool('half')];

  it('forces calls of the tools, or one call of the named one, with arguments of its schema', () => {
    const required = responseGrammar({ calls: 'required', tools }, plain);
    const texts = [
      call('add', 1),
      `${call('add', 1)}\n${call('half', 2)}`,
      'no',
      call('add', 'a'),
      call('other', 1),
    ];
    expect(texts.map((text) => accepts(required, text))).toEqual([true, true, false, false, false]);
    const named = responseGrammar({ calls: { name: 'half' }, tools }, plain);
    expect(
      [call('half', 1), call('add', 1), `${call('half', 1)}\n${call('half', 1)}`].map((text) =>
        accepts(named, text),
      ),
    ).toEqual([true, false, false]);
  });

  it.each([
    {},
    { anyOf: [{ type: 'string' }, { type: 'object' }] },
    { $ref: '#/$defs/any', $defs: { any: {} } },
    { type: ['object', 'null'] },
  ])('forces arguments that are an object: %j', (parameters) => {
    const grammar = responseGrammar(
      { calls: 'required', tools: [{ type: 'function', function: { name: 'f', parameters } }] },
      plain,
    );
    for (const args of ['{}', '{"a": 5}', '5', '"x"', '[]', 'null']) {
      const text = `<tool_call>\n{"name": "f", "arguments": ${args}}\n</tool_call>`;
      expect([args, accepts(grammar, text)]).toEqual([args, args.startsWith('{')]);
    }
  });

  it('refuses arguments that can be no object', () => {
    const parameters = { type: 'string' };
    expect(() =>
      responseGrammar(
        { calls: 'required', tools: [{ type: 'function', function: { name: 'f', parameters } }] },
        plain,
      ),
    ).toThrow('tools.f.parameters allows no value');
  });

  it('lets a model that may call tools answer in the format or call', () => {
    const grammar = responseGrammar(
      { ...ofSchema({ type: 'integer' }), calls: 'auto', tools },
      plain,
    );
    expect(['12', call('add', 1), 'text'].map((text) => accepts(grammar, text))).toEqual([
      true,
      true,
      false,
    ]);
  });

  it.each([
    [
      'llama3_json',
      llama3Json,
      '{"name": "add", "parameters": {"a":1}}; {"name": "add", "parameters": {"a":2}}',
    ],
    [
      'mistral',
      mistral,
      '[TOOL_CALLS] [{"name": "add", "arguments": {"a":1}}, {"name": "add", "arguments": {"a":2}}]',
    ],
    [
      'hermes',
      hermes,
      '<tool_call>\n{"name": "add", "arguments": {"a":1}}\n</tool_call>\n<tool_call>\n{"name": "add", "arguments": {"a":2}}\n</tool_call>',
    ],
  ])('forces calls in the syntax of %s, which its parser reads', (_, parser, text) => {
    const parameters = { type: 'object', properties: { a: { type: 'integer' } } };
    const grammar = responseGrammar(
      { calls: 'required', tools: [{ type: 'function', function: { name: 'add', parameters } }] },
      { ...plain, call: parser.syntax },
    );
    expect(accepts(grammar, text)).toBe(true);
    expect(accepts(grammar, 'No.')).toBe(false);
    expect(parser.parse(text)).toEqual({
      text: '',
      toolCalls: ['{"a":1}', '{"a":2}'].map((args) => ({ name: 'add', arguments: args })),
      malformed: 0,
    });
  });

  it('refuses tools beside a format where the model could never call', () => {
    const either = (parser: WritingStyle['call'], calls: 'auto' | 'none'): unknown =>
      responseGrammar(
        { ...ofSchema({ type: 'integer' }), calls, tools },
        { ...plain, call: parser },
      );
    expect(() => either(undefined, 'auto')).toThrow(
      expect.objectContaining({ status: 400, details: { param: 'tool_choice' } }),
    );
    expect(either(undefined, 'none')).toBeDefined();
  });

  it('leaves a free answer alone, and rejects to force calls that could not be read', () => {
    expect(responseGrammar({ calls: 'auto', tools }, plain)).toBeUndefined();
    expect(() =>
      responseGrammar({ calls: 'required', tools }, { ...plain, call: undefined }),
    ).toThrow('tool_call_parser hermes, llama3_json or mistral');
  });

  it('leaves reasoning free', () => {
    const form = ofSchema({ type: 'integer' });
    const may = responseGrammar(form, { ...plain, reasoning: 'may' });
    const texts = [
      '1',
      '<think>a </thin < </think>\n\n1',
      '<think></think>1',
      '<think>1',
      'a</think>1',
      '<think>a</think>b',
    ];
    expect(texts.map((text) => accepts(may, text))).toEqual([
      true,
      true,
      true,
      false,
      false,
      false,
    ]);
    const open = responseGrammar(form, { ...plain, reasoning: 'open' });
    expect(['a</</think>\n1', '</think>1', '1'].map((text) => accepts(open, text))).toEqual([
      true,
      true,
      false,
    ]);
  });
});
