import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ToolDefinition } from '@trinity-rft/core';
import { normalizeMessages } from '../messages/messages.js';
import { callOfId, toolCallId } from './call-id.js';
import { toolCallParsers } from './table.js';

const { hermes, llama3_json: llama, mistral, pythonic, qwen3_coder: coder } = toolCallParsers;

const f = (args: string): object => ({ name: 'f', arguments: args });
const g = (args: string): object => ({ name: 'g', arguments: args });

it('reads the arguments of the hermes syntax under either name', () => {
  expect(
    hermes.parse('<tool_call>{"name":"f","parameters":{"a": 1}}</tool_call>').toolCalls,
  ).toEqual([f('{"a": 1}')]);
});

describe.each([
  ['hermes', hermes, (args: string) => `<tool_call>{"name":"f","arguments":${args}}</tool_call>`],
  ['llama3_json', llama, (args: string) => `{"name": "f", "parameters": ${args}}`],
  ['mistral', mistral, (args: string) => `[TOOL_CALLS] [{"name": "f", "arguments": ${args}}]`],
  ['mistral with names', mistral, (args: string) => `[TOOL_CALLS]f[ARGS]${args} `],
] as const)('arguments in the syntax of %s', (_, { parse }, write) => {
  it.each([
    [JSON.stringify('{"a": 1.0}'), '{"a": 1.0}'],
    ['""', '{}'],
    ['null', '{}'],
  ])('%s are an object', (args, expected) => {
    expect(parse(write(args))).toEqual({ text: '', toolCalls: [f(expected)], malformed: 0 });
  });

  it('of another kind make the call malformed', () => {
    for (const args of ['"text"', '[]', '5', JSON.stringify('{"a": 1} and')])
      expect(parse(write(args))).toMatchObject({ toolCalls: [], malformed: 1 });
  });
});

it('hermes: a tag inside a string of a call that was cut off is no call', () => {
  const text = '<tool_call>{"name": "f", "arguments": {"a": "<tool_call>{} ';
  expect(hermes.parse(text)).toEqual({ text, toolCalls: [], malformed: 1 });
});

describe('the llama3_json parser', () => {
  it.each([
    [
      'one call',
      '{"name": "f", "parameters": {"a": {"b": "}; {"}}}',
      '',
      [f('{"a": {"b": "}; {"}}')],
    ],
    ['the other key', '{"name": "f", "arguments": {}}', '', [f('{}')]],
    ['a tag before it', '<|python_tag|>{"name": "f", "parameters": {}}', '', [f('{}')]],
    [
      'several',
      '{"name": "f", "parameters": {}}; {"name": "g", "parameters": {}} ;\n{"name": "f", "parameters": {}}',
      '',
      [f('{}'), g('{}'), f('{}')],
    ],
    [
      'text around them',
      'So: {"name": "f", "parameters": {}} I used {f} for {"x": 1}.',
      'So:  I used {f} for {"x": 1}.',
      [f('{}')],
    ],
    ['no call', 'Just text with {braces}.', 'Just text with {braces}.', []],
    ['no name', '{"parameters": {}}', '{"parameters": {}}', []],
  ])('reads %s', (_, text, rest, toolCalls) => {
    expect(llama.parse(text)).toEqual({ text: rest, toolCalls, malformed: 0 });
  });

  it('counts a call without end or without arguments', () => {
    for (const text of ['{"name": "f", "parameters": {', '{"name": "f"}', '<|python_tag|>f(1)'])
      expect(llama.parse(text)).toEqual({ text, toolCalls: [], malformed: 1 });
  });
});

describe('the mistral parser', () => {
  it.each([
    ['a list', '[TOOL_CALLS] [{"name": "f", "arguments": {"a": "]"}}]', '', [f('{"a": "]"}')]],
    [
      'two, with text before',
      'So. [TOOL_CALLS][{"name": "f", "arguments": {}}, {"arguments": {"b": 1}, "name": "g", "id": "x"}]',
      'So.',
      [f('{}'), g('{"b": 1}')],
    ],
    ['names', '[TOOL_CALLS]f{"a": 1}[TOOL_CALLS]g{}', '', [f('{"a": 1}'), g('{}')]],
    ['names and tags', '[TOOL_CALLS]f[CALL_ID]abc[ARGS]{"a": {}}', '', [f('{"a": {}}')]],
    ['text after a list', '[TOOL_CALLS] [{"name": "f"}] so', '', [f('{}')]],
    ['no call', 'Hello [1].', 'Hello [1].', []],
  ])('reads %s', (_, text, rest, toolCalls) => {
    expect(mistral.parse(text)).toEqual({ text: rest, toolCalls, malformed: 0 });
  });

  it('leaves broken calls in the text and counts them', () => {
    for (const text of ['[TOOL_CALLS] [{"name": "f", ', '[TOOL_CALLS]f', '[TOOL_CALLS]f[ARGS]{a}'])
      expect(mistral.parse(text)).toEqual({ text, toolCalls: [], malformed: 1 });
  });

  it('has ids of nine letters and digits, which tell their call', () => {
    fc.assert(
      fc.property(
        fc.nat({ max: 36 ** 4 - 1 }),
        fc.nat({ max: 1000 }),
        fc.nat({ max: 1000 }),
        (call, choice, index) => {
          const id = toolCallId({ call, choice, index }, mistral.callIds);
          expect(id).toMatch(/^[\da-z]{9}$/);
          expect(callOfId(id)).toBe(call);
          expect(callOfId(toolCallId({ call, choice, index }))).toBe(call);
        },
      ),
    );
    expect(callOfId('call_abc')).toBeUndefined();
  });

  it.each([undefined, mistral.callIds])('has other ids with another salt: %s', (style) => {
    const places = Array.from({ length: 200 }, (_, call) => ({ call, choice: 0, index: 0 }));
    const ids = [undefined, '0123', '0124'].flatMap((salt) =>
      places.map((place) => toolCallId({ ...place, salt }, style)),
    );
    expect(new Set(ids).size).toBe(ids.length);
    for (const id of ids.slice(places.length)) {
      expect(callOfId(id)).toBeUndefined();
      expect(id).toMatch(style ? /^[\da-z]{9}$/ : /^call_[\da-z]+_\d+_0_0$/);
    }
  });
});

describe('the pythonic parser', () => {
  it.each([
    ['[f(city=\'San Francisco\', metric="c")]', [f('{"city": "San Francisco", "metric": "c"}')]],
    [
      "[f(n='J', age=37, x=-1.0, at={'city': 'S', 1: None}, ok=True, l=['a', 'b'], t=(1, 2,)), g()]",
      [
        f(
          '{"n": "J", "age": 37, "x": -1.0, "at": {"city": "S", "1": null}, "ok": true, "l": ["a", "b"], "t": [1, 2]}',
        ),
        g('{}'),
      ],
    ],
    ['[f(a={}, b=[])]', [f('{"a": {}, "b": []}')]],
    [
      String.raw`[f(a='Martha\'s', b='\"cool\" \u00e9\n', c='x' "y")]`,
      [f(String.raw`{"a": "Martha's", "b": "\"cool\" é\n", "c": "xy"}`)],
    ],
    [' [ f(\n a = 1_000,\n) ] ', [f('{"a": 1000}')]],
    ['[f(a=(5), b=((5,)), c=(), d=(1, 2))]', [f('{"a": 5, "b": [5], "c": [], "d": [1, 2]}')]],
    [
      "[f(a=\"two\nlines\", b='''it\"s\n''')]",
      [f(String.raw`{"a": "two\nlines", "b": "it\"s\n"}`)],
    ],
    [
      '<|python_start|>[files.read-all(max-size=1)]<|python_end|>',
      [{ name: 'files.read-all', arguments: '{"max-size": 1}' }],
    ],
  ])('reads %s', (text, toolCalls) => {
    expect(pythonic.parse(text)).toEqual({ text: '', toolCalls, malformed: 0 });
  });

  it('takes other text for an answer, and counts calls that are no literals', () => {
    for (const text of ['Hello.', '[1, 2]', '["f(x)"]', 'so [f()]'])
      expect(pythonic.parse(text)).toEqual({ text, toolCalls: [], malformed: 0 });
    for (const text of [
      '[f(1)]',
      '[f(a=b)]',
      '[f(a=1e999)]',
      "[f(a='x)]",
      '[f(a={(1, 2): 3})]',
      '[f(a=[{[]: 3}])]',
      '[f()] so',
      '[f(a=b"x")]',
      '[get-weather(1)]',
      '<|python_start|>f()<|python_end|>',
    ])
      expect(pythonic.parse(text)).toEqual({ text, toolCalls: [], malformed: 1 });
  });
});

describe.each([
  ['functiongemma', '<start_function_call>', '<end_function_call>', '<escape>'],
  ['gemma4', '<|tool_call>', '<tool_call|>', '<|"|>'],
] as const)('the %s parser', (name, open, close, quote) => {
  const { parse, stops } = toolCallParsers[name];
  const call = (args: string): string => `${open}call:f{${args.replaceAll('~', quote)}}${close}`;

  it.each([
    ['', '{}'],
    [
      'a:~x, {y}: [z]~,b:42,c:-1.5,d:true,e:null,f:None',
      '{"a": "x, {y}: [z]", "b": 42, "c": -1.5, "d": true, "e": null, "f": null}',
    ],
    [
      'o:{k:~v~,~q: r~:[1,[],{}]},l:[~a~,2,]',
      '{"o": {"k": "v", "q: r": [1, [], {}]}, "l": ["a", 2]}',
    ],
    [' a : Paris , b : ~~ ', '{"a": "Paris", "b": ""}'],
    ['a:1e999,b:[-1e999]', '{"a": "1e999", "b": ["-1e999"]}'],
  ])('reads %s', (args, expected) => {
    expect(parse(`So.\n${call(args)} ${call('')}\nDone. `)).toEqual({
      text: 'So.\nDone.',
      toolCalls: [f(expected), f('{}')],
      malformed: 0,
    });
  });

  it('reads values by the types of the schema', () => {
    const properties = { s: { type: 'string' }, n: { type: 'integer' }, b: { type: 'boolean' } };
    const tools = [
      { type: 'function', function: { name: 'f', parameters: { properties } } },
    ] as const;
    expect(parse(call('s:42,n:~42~,b:True,x:7'), { tools }).toolCalls).toEqual([
      f('{"s": "42", "n": 42, "b": true, "x": 7}'),
    ]);
  });

  it('reads a call without its closing mark at the end', () => {
    expect(parse(`${open}call:get-weather.now{}\n`)).toEqual({
      text: '',
      toolCalls: [{ name: 'get-weather.now', arguments: '{}' }],
      malformed: 0,
    });
  });

  it('leaves broken calls in the text and counts them', () => {
    for (const text of [
      ...[open, `${open}f{}${close}`, `${open}call:f${close}`, `${open}call:f{a:1`, call('a')],
      ...[call('a:~x'), call('a:1 b:{}'), `${open}call:f{} so${close}`, call('a:,b:1')],
    ])
      expect(parse(text)).toEqual({ text, toolCalls: [], malformed: 1 });
  });

  it('names the token that begins a result, at which the turn ends', () => {
    expect(stops).toHaveLength(1);
  });
});

describe('the phi4_mini_json parser', () => {
  const { parse } = toolCallParsers.phi4_mini_json;
  const list = '[{"name": "f", "arguments": {"a": "]"}}, {"name": "g", "parameters": {}}]';

  it.each([`functools${list}`, `<|tool_call|>${list}<|/tool_call|>`, `<|tool_call|> ${list}`])(
    'reads %s',
    (calls) => {
      expect(parse(`So.\n${calls}`)).toEqual({
        text: 'So.',
        toolCalls: [f('{"a": "]"}'), g('{}')],
        malformed: 0,
      });
    },
  );

  it('leaves broken calls in the text and counts them', () => {
    for (const text of ['functools[{"name": "f"', 'functools[{"a": 1}]', '<|tool_call|>f()'])
      expect(parse(text)).toEqual({ text, toolCalls: [], malformed: 1 });
  });

  it('takes a word for text', () => {
    const text = 'import functools; functools.partial';
    expect(parse(text)).toEqual({ text, toolCalls: [], malformed: 0 });
  });
});

describe('the lfm2 parser', () => {
  const { parse } = toolCallParsers.lfm2;
  const block = (calls: string): string => `<|tool_call_start|>${calls}<|tool_call_end|>`;

  it.each([
    ['[f(a="x", b=1), g()]', [f('{"a": "x", "b": 1}'), g('{}')]],
    [' [ f ( a = None ) ] ', [f('{"a": null}')]],
    ['[{"name": "f", "arguments": {"a": 1}}, {"name": "g"}]', [f('{"a": 1}'), g('{}')]],
    ['{"name": "f", "arguments": {}}', [f('{}')]],
    [
      "[f(a='it's <b>', b=['x', 'sed -n '1,9p' y'])]",
      [f('{"a": "it\'s <b>", "b": ["x", "sed -n \'1,9p\' y"]}')],
    ],
    ['[f(a="<|tool_call_end|>")]', [f('{"a": "<|tool_call_end|>"}')]],
  ])('reads %s', (calls, toolCalls) => {
    for (const text of [block(calls), block(calls).slice(0, -'<|tool_call_end|>'.length)])
      expect(parse(`Let me see. ${text}`)).toEqual({
        text: 'Let me see.',
        toolCalls,
        malformed: 0,
      });
  });

  it('reads several lists, and drops calls that are repeated without a marker', () => {
    expect(parse(`a${block('[f()]')}b${block('[g()]')}[g()]<|tool_call_end|> c`)).toEqual({
      text: 'a\nb\nc',
      toolCalls: [f('{}'), g('{}')],
      malformed: 0,
    });
  });

  it('leaves broken calls in the text and counts them', () => {
    for (const text of [
      ...[block('f()'), block('[]'), block('[f(1)]'), block('[f(a=b)]'), block('[f()] so')],
      ...['<|tool_call_start|>', '<|tool_call_start|>[f(', block('[{"name": "f"')],
    ])
      expect(parse(text)).toEqual({ text, toolCalls: [], malformed: 1 });
  });
});

describe('the qwen3_coder parser', () => {
  const properties = {
    n: { type: 'integer' },
    x: { type: 'number' },
    s: { type: 'string' },
    b: { type: 'boolean' },
    o: { type: 'object' },
    l: { type: 'array' },
    m: { anyOf: [{ type: 'string' }, { type: 'null' }] },
    t: { type: ['integer', 'null'] },
  };
  const tools: readonly ToolDefinition[] = [
    { type: 'function', function: { name: 'f', parameters: { type: 'object', properties } } },
  ];
  const call = (args: Readonly<Record<string, string>>): string =>
    `<tool_call>\n<function=f>\n${Object.entries(args)
      .map(([key, value]) => `<parameter=${key}>\n${value}\n</parameter>\n`)
      .join('')}</function>\n</tool_call>`;

  it.each([
    [{ n: '3', x: '2.5', s: '3', b: 'true' }, '{"n": 3, "x": 2.5, "s": "3", "b": true}'],
    [
      { x: '2.0', b: 'False', o: '{"a": 1.0}', l: "['a', None]" },
      '{"x": 2, "b": false, "o": {"a": 1.0}, "l": ["a", null]}',
    ],
    [{ m: 'null', t: 'None', s: 'null' }, '{"m": null, "t": null, "s": "null"}'],
    [{ n: 'many', o: 'not json', unknown: '5' }, '{"n": "many", "o": "not json", "unknown": "5"}'],
    [{ s: 'two\nlines\n  <b>', t: '7' }, '{"s": "two\\nlines\\n  <b>", "t": 7}'],
    [
      { o: '{(1, 2): 3}', x: '1e999', l: '[1e999]' },
      '{"o": "{(1, 2): 3}", "x": "1e999", "l": "[1e999]"}',
    ],
  ])('reads %j by the schema', (args, expected) => {
    expect(coder.parse(`So.\n${call(args)}`, { tools })).toEqual({
      text: 'So.',
      toolCalls: [f(expected)],
      malformed: 0,
    });
  });

  it('reads several calls, calls without their outer tag, and a call without its end', () => {
    expect(coder.parse(`${call({ n: '1' })}\n${call({})}`, { tools }).toolCalls).toEqual([
      f('{"n": 1}'),
      f('{}'),
    ]);
    expect(coder.parse('<function=f>\n<parameter=n>1</parameter>\n</function>', { tools })).toEqual(
      {
        text: '',
        toolCalls: [f('{"n": 1}')],
        malformed: 0,
      },
    );
    expect(
      coder.parse('<tool_call>\n<function=f>\n<parameter=n>\n1\n', { tools }).toolCalls,
    ).toEqual([f('{"n": 1}')]);
  });

  it('finds the types of arguments through the whole schema', () => {
    const parameters = {
      $defs: {
        args: { properties: { n: { $ref: '#/$defs/count' }, s: { allOf: [{ type: 'string' }] } } },
        count: { anyOf: [{ allOf: [{ minimum: 0 }, { type: 'integer' }] }, { type: 'null' }] },
        tree: { properties: { next: { $ref: '#/$defs/tree' } } },
      },
      allOf: [
        { $ref: '#/$defs/args' },
        {
          properties: {
            mode: { enum: ['none', 'all'] },
            level: { enum: [1, 2] },
            on: { const: true },
          },
        },
      ],
      anyOf: [
        { properties: { l: { items: {} }, o: { $ref: '#/$defs/tree' }, x: { type: 'integer' } } },
        { properties: { x: { type: 'string' } } },
      ],
    };
    const definitions: readonly ToolDefinition[] = [
      { type: 'function', function: { name: 'f', parameters } },
    ];
    const args = {
      n: '3',
      s: '3',
      mode: 'none',
      level: '2',
      on: 'True',
      l: '[1]',
      o: '{}',
      x: '5',
    };
    expect(coder.parse(call(args), { tools: definitions }).toolCalls).toEqual([
      f('{"n": 3, "s": "3", "mode": "none", "level": 2, "on": true, "l": [1], "o": {}, "x": "5"}'),
    ]);
    expect(coder.parse(call({ n: 'none' }), { tools: definitions }).toolCalls).toEqual([
      f('{"n": null}'),
    ]);
  });

  it('reads the calls of models that leave out tags', () => {
    const [one, two] = ['<tool_call><function=f><parameter=n>1', '</function></tool_call>'];
    for (const text of [`${one}${two}\n${one}${two}`, `${one}</parameter>${two}${one}`])
      expect(coder.parse(text, { tools }).toolCalls).toEqual([f('{"n": 1}'), f('{"n": 1}')]);
  });

  it('leaves broken calls in the text and counts them', () => {
    for (const text of [
      '<tool_call>f()',
      '<tool_call><function=>\n</function></tool_call>',
      '<function=f>so</function>',
    ])
      expect(coder.parse(text, { tools })).toEqual({ text, toolCalls: [], malformed: 1 });
  });
});

describe.each(Object.entries(toolCallParsers))('the %s parser', (_, { parse }) => {
  it('never throws, and gives arguments that are objects', () => {
    const piece = fc.constantFrom(
      '<tool_call>',
      '</tool_call>',
      '<function=f>',
      '</function>',
      '<parameter=a>',
      '</parameter>',
      '[TOOL_CALLS]',
      '[ARGS]',
      ...['<|tool_call_start|>', '<|tool_call_end|>', '<|tool_call>', '<tool_call|>', '<|"|>'],
      ...['<start_function_call>', '<end_function_call>', '<escape>', 'call:f{'],
      '<|python_tag|>',
      '[',
      ']',
      '{',
      '}',
      '(',
      ')',
      '"',
      "'",
      '\\',
      ':',
      ',',
      '=',
      'f',
      'a',
      '1',
      ' ',
      '\n',
      '"name": "f"',
      '"parameters": ',
      '"arguments": ',
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 30 }), (pieces) => {
        for (const call of parse(pieces.join('')).toolCalls) {
          const args: unknown = JSON.parse(call.arguments);
          expect(args).toBeTypeOf('object');
          expect(Array.isArray(args)).toBe(false);
        }
      }),
      { numRuns: 500 },
    );
  });

  it('never throws for a value that JSON cannot represent, and gives JSON that clients may send back', () => {
    const nested = (depth: number): readonly string[] => [
      '['.repeat(depth) + ']'.repeat(depth),
      `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`,
      `${'{a:'.repeat(depth)}1${'}'.repeat(depth)}`,
    ];
    const value = fc.oneof(
      fc.constantFrom(
        ...['{(1, 2): 3}', '{[1]: 3}', '{{}: 1}', '[{(): 1}]', '{None: 1, True: 2, 1.5: 3}'],
        ...['1e999', '[1, -1e400]', '{"a": [1e999]}', '{1: 1e999}', 'NaN', '-Infinity', 'nan'],
        ...["'\\ud800'", '"\\udfff"', "'\\U99999999'", '9'.repeat(400), '1_0', '+1', '-.5', '.'],
      ),
      fc.integer({ min: 100, max: 6000 }).chain((depth) => fc.constantFrom(...nested(depth))),
    );
    const written = (each: string): readonly string[] => [
      `<tool_call>\n<function=f>\n<parameter=a>\n${each}\n</parameter>\n</function>\n</tool_call>`,
      `<tool_call>{"name": "f", "arguments": {"a": ${each}}}</tool_call>`,
      `<tool_call>{"name": ${each}, "arguments": ${each}}</tool_call>`,
      `{"name": "f", "parameters": {"a": ${each}}}`,
      `[TOOL_CALLS]f[ARGS]{"a": ${each}}`,
      `functools[{"name": "f", "arguments": {"a": ${each}}}]`,
      `<|tool_call_start|>[f(a=${each})]<|tool_call_end|>`,
      `[f(a=${each})]`,
      ...[each, `<|"|>${each}<|"|>`].map((a) => `<|tool_call>call:f{a:${a}}<tool_call|>`),
      `<start_function_call>call:f{a:${each}}<end_function_call>`,
    ];
    const types = ['string', 'integer', 'number', 'boolean', 'object', 'array', 'null'];
    fc.assert(
      fc.property(value, fc.constantFrom(...types), fc.boolean(), (each, type, isWhole) => {
        const parameters = { properties: { a: { type } } };
        const tools = [{ type: 'function', function: { name: 'f', parameters } }] as const;
        for (const text of written(each))
          for (const call of parse(text, { tools, isWhole }).toolCalls) {
            expect(JSON.parse(call.arguments)).toBeTypeOf('object');
            const message = { role: 'assistant', tool_calls: [{ function: call }] };
            expect(normalizeMessages([message])).toHaveLength(1);
          }
      }),
      { numRuns: 40 },
    );
  });
});
