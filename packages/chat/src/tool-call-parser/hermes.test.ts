import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { hermes } from './hermes.js';

const one = (args: string): readonly object[] => [{ name: 'f', arguments: args }];

describe('the hermes parser', () => {
  it.each([
    [
      'a call alone',
      '<tool_call>\n{"name": "f", "arguments": {"a": 1}}\n</tool_call>',
      '',
      one('{"a": 1}'),
    ],
    [
      'text before a call',
      'so\n<tool_call>{"name": "f", "arguments": {}}</tool_call>',
      'so',
      one('{}'),
    ],
    ['text around calls', 'a <tool_call>{"name":"f"}</tool_call>\n b', 'a \n b', one('{}')],
    [
      'arguments as the model spelled them',
      '<tool_call>{"arguments":{ "b":2.0,\t"a":"\\u00e9" } ,"name":"f"}</tool_call>',
      '',
      one('{ "b":2.0,\t"a":"\\u00e9" }'),
    ],
    [
      'braces, quotes and tags in strings',
      '<tool_call>{"name":"f","arguments":{"a":"}\\"</tool_call>{"}}</tool_call>',
      '',
      one('{"a":"}\\"</tool_call>{"}'),
    ],
    [
      'a missing end at the end',
      '<tool_call>{"name":"f","arguments":{"a":[1,{}]}} ',
      '',
      one('{"a":[1,{}]}'),
    ],
    [
      'two calls',
      '<tool_call>{"name":"f"}</tool_call>\n<tool_call>{"name":"f"}</tool_call>\n',
      '',
      [...one('{}'), ...one('{}')],
    ],
    [
      'the last of repeated keys',
      '<tool_call>{"name":"f","arguments":{"a":1},"arguments":{"a":2}}</tool_call>',
      '',
      one('{"a":2}'),
    ],
  ])('reads %s', (_, text, rest, toolCalls) => {
    expect(hermes.parse(text)).toEqual({ text: rest, toolCalls, malformed: 0 });
  });

  it.each([
    '<tool_call>',
    '<tool_call>{"name": "f", "arguments": {"a": 1}',
    "<tool_call>{'name': 'f'}</tool_call>",
    '<tool_call>{"name": "f", "arguments": {}} and more</tool_call>',
    '<tool_call>{"name": "f", "arguments": "text"}</tool_call>',
    '<tool_call>{"name": 1, "arguments": {}}</tool_call>',
    '<tool_call>{"name": "", "arguments": {}}</tool_call>',
    '<tool_call>{"arguments": {}}</tool_call>',
    '<tool_call>[]</tool_call>',
    '<tool_call>{"name": "f" "arguments": {}}</tool_call>',
  ])('leaves %s in the text and counts it', (text) => {
    expect(hermes.parse(text)).toEqual({ text, toolCalls: [], malformed: 1 });
  });

  it('finds a good call after a broken one', () => {
    const text = 'x<tool_call>oops<tool_call>{"name":"f"}</tool_call>';
    expect(hermes.parse(text)).toEqual({
      text: 'x<tool_call>oops',
      toolCalls: one('{}'),
      malformed: 1,
    });
  });

  it('gives back any text without the tag', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        expect(hermes.parse(text)).toEqual({ text, toolCalls: [], malformed: 0 });
      }),
    );
  });

  it('never throws and never invents arguments that are not objects', () => {
    const piece = fc.constantFrom(
      '<tool_call>',
      '</tool_call>',
      '{',
      '}',
      '[',
      ']',
      '"',
      '\\',
      ':',
      ',',
      '"name"',
      '"f"',
      '"arguments"',
      ' ',
      '1',
      '{"name":"f","arguments":',
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 20 }), (pieces) => {
        for (const call of hermes.parse(pieces.join('')).toolCalls)
          expect(JSON.parse(call.arguments)).toBeTypeOf('object');
      }),
      { numRuns: 1000 },
    );
  });

  it('inverts a rendering of any arguments, with any spacing', () => {
    const args = fc.dictionary(fc.string(), fc.jsonValue());
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.string({ minLength: 1 }), args, fc.nat({ max: 4 })), { minLength: 1 }),
        (calls) => {
          const expected = calls.map(([name, value, indent]) => ({
            name,
            arguments: JSON.stringify(value, null, indent),
          }));
          const text = expected
            .map(
              (call) =>
                `<tool_call>\n{"name": ${JSON.stringify(call.name)}, "arguments": ${call.arguments}}\n</tool_call>`,
            )
            .join('\n');
          expect(hermes.parse(text)).toEqual({ text: '', toolCalls: expected, malformed: 0 });
        },
      ),
    );
  });
});
