import type { ToolDefinition } from '@trinity-rft/core';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { reasoningParsers } from '../reasoning-parser/table.js';
import { toolCallParsers } from '../tool-call-parser/table.js';
import type { ToolCallParse, ToolCallParser } from '../tool-call-parser/types.js';
import { createTurnReader, type PartialTurn } from './turn-reader.js';

const tools: readonly ToolDefinition[] = [
  {
    type: 'function',
    function: {
      name: 'f',
      parameters: { type: 'object', properties: { a: { type: 'integer' } } },
    },
  },
];
const tokenBytes = Array.from({ length: 128 }, (_, code) => Uint8Array.of(code));

/** The certain text after each character, and the complete text at the end. */
function stream(
  name: keyof typeof toolCallParsers,
  text: string,
): { readonly turns: readonly PartialTurn[]; readonly whole: ToolCallParse } {
  const parser = toolCallParsers[name];
  const parse: ToolCallParser['parse'] = (part, options) =>
    parser.parse(part, { ...options, tools });
  const toolCalls = { ...parser, parse };
  const reader = createTurnReader({ tokenBytes, hidden: new Set(), toolCalls, stops: [] });
  const turns = Array.from(text, (letter) => reader.push([letter.charCodeAt(0)]));
  return { turns, whole: parse(text) };
}

/** A call of f, and a text before and after it. */
const calls = {
  functiongemma: '<start_function_call>call:f{a:1}<end_function_call>',
  gemma4: '<|tool_call>call:f{a:1}<tool_call|>',
  hermes: '<tool_call>\n{"name": "f", "arguments": {"a": 1}}\n</tool_call>',
  lfm2: '<|tool_call_start|>[f(a=1)]<|tool_call_end|>',
  llama3_json: '{"name": "f", "parameters": {"a": 1}}',
  mistral: '[TOOL_CALLS] [{"name": "f", "arguments": {"a": 1}}]',
  phi4_mini_json: 'functools[{"name": "f", "arguments": {"a": 1}}]',
  pythonic: '[f(a=1)]',
  qwen3_coder:
    '<tool_call>\n<function=f>\n<parameter=a>\n1\n</parameter>\n</function>\n</tool_call>',
} as const satisfies Readonly<Record<keyof typeof toolCallParsers, string>>;

const names = Object.keys(calls) as (keyof typeof calls)[];

describe.each(names)('a turn in the syntax of %s, while it is sampled', (name) => {
  it('shows no part of a call as text', () => {
    const { turns, whole } = stream(name, calls[name]);
    expect(whole.toolCalls).toEqual([{ name: 'f', arguments: '{"a": 1}' }]);
    expect(turns.map(({ text }) => text).join('')).toBe('');
  });

  it('shows text at once', () => {
    const { turns } = stream(name, 'I add. Then');
    expect(turns[3]?.text).toBe('I ad');
  });

  it('says nothing that the whole turn does not say', () => {
    const call = calls[name];
    const pieces = [
      ...[
        call,
        call.slice(0, 12),
        call.slice(-9),
        call.slice(0, -3),
        '</tool_call>',
        '</function>',
      ],
      ...['</parameter>', '<parameter=a>', 'So.', ' ', '\n', '{', '[', '<', ';', '"'],
    ];
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...pieces), { maxLength: 8 }), (parts) => {
        const { turns, whole } = stream(name, parts.join(''));
        for (const { text, toolCalls } of turns) {
          expect(whole.text.slice(0, text.length)).toBe(text);
          expect(whole.toolCalls.slice(0, toolCalls.length)).toEqual(toolCalls);
        }
      }),
      { numRuns: 300 },
    );
  });
});

it.each(['functiongemma', 'gemma4', 'hermes', 'lfm2', 'qwen3_coder'] as const)(
  'a call of %s is there before the next one begins',
  (name) => {
    const { turns } = stream(name, `${calls[name]}\n${calls[name]}`);
    expect(turns[calls[name].length - 1]?.toolCalls).toHaveLength(1);
    expect(turns.at(-1)?.toolCalls).toHaveLength(2);
  },
);

describe.each(Object.entries(reasoningParsers))(
  'reasoning in the syntax of %s, while it is sampled',
  (_, reasoning) => {
    it('says nothing that the whole turn does not say', () => {
      const { hermes, gemma4 } = toolCallParsers;
      const pieces = [
        ...[...reasoning.markers, 'thought\n', 'thou', ...hermes.markers, calls.qwen3_coder],
        ...[...gemma4.markers, calls.gemma4, 'So.', ' ', '\n', '{', '<'],
      ];
      fc.assert(
        fc.property(fc.array(fc.constantFrom(...pieces), { maxLength: 8 }), (parts) => {
          const text = parts.join('');
          const reader = createTurnReader({ tokenBytes, hidden: new Set(), reasoning, stops: [] });
          const whole = reasoning.parse(text);
          for (const letter of text) {
            const turn = reader.push([letter.charCodeAt(0)]);
            expect(whole.text.slice(0, turn.text.length)).toBe(turn.text);
            const thought = turn.reasoning ?? '';
            expect((whole.reasoning ?? '').slice(0, thought.length)).toBe(thought);
          }
        }),
        { numRuns: 300, examples: [[['<|channel>', '\n', 'thought\n']]] },
      );
    });
  },
);
