/** Tests that calls with any arguments are read back unchanged from the text that templates print. */
import type { ToolDefinition } from '@trinity-rft/core';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createTurnReader } from '../format/turn-reader.js';
import { valueOf } from '../jinja/from-json.js';
import { repr } from '../jinja/spelling.js';
import { toolCallParsers } from './table.js';
import type { ToolCallParser } from './types.js';

type Json = string | number | boolean | null | readonly Json[] | { readonly [key: string]: Json };

interface Call {
  readonly name: string;
  readonly args: Readonly<Record<string, Json>>;
}

const markers = [
  ...Object.values(toolCallParsers).flatMap((parser) => parser.markers),
  ...['</function>', '<function=f>', '<parameter=a>', '</parameter>', '<think>', '</think>'],
  ...['{', '}', '[', ']', '(', ')', '"', "'", '"""', '\\', '\n', '\r\n', ';', ',', '=', ' '],
  ...['{"name": "g", "arguments": {}}', 'é', '\u{1F600}', '\u2028', 'null', 'None'],
];
const text = fc
  .array(fc.oneof(fc.constantFrom(...markers), fc.string({ maxLength: 4 })), { maxLength: 8 })
  .map((pieces) => pieces.join(''));
const { value } = fc.letrec<{ value: Json }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 2 },
    text,
    fc.integer(),
    fc.double({ noNaN: true, noDefaultInfinity: true }).map((each) => each + 0),
    fc.boolean(),
    fc.constant(null),
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(text, tie('value'), { maxKeys: 3 }),
  ),
}));
const identifier = fc.stringMatching(/^[a-zA-Z_][\w.-]{0,5}$/);
const callsWith = (key: fc.Arbitrary<string>): fc.Arbitrary<readonly Call[]> =>
  fc.array(
    fc.record({
      name: identifier,
      args: fc.dictionary(key, value, { maxKeys: 3, noNullPrototype: true }),
    }),
    { minLength: 1, maxLength: 3 },
  );

type Write = (calls: readonly Call[]) => string;

/** Calls in the syntax that is also used to force them. */
const asJson =
  ({ syntax }: ToolCallParser): Write =>
  (calls) =>
    `${syntax?.open ?? ''}${calls
      .map(({ name, args }) => `${syntax?.before(name)}${JSON.stringify(args)}${syntax?.after}`)
      .join(syntax?.between)}${syntax?.close ?? ''}`;

const asPython: Write = (calls) =>
  `[${calls
    .map(
      ({ name, args }) =>
        `${name}(${Object.entries(args)
          .map(([key, each]) => `${key}=${repr(valueOf(each))}`)
          .join(', ')})`,
    )
    .join(', ')}]`;

/** Calls as Gemma's templates write them; keys within values are in quotes. */
const asGemma =
  ([open = '', close = '', quote = '']: readonly string[]): Write =>
  (calls) => {
    const print = (each: Json): string => {
      if (typeof each === 'string') return `${quote}${each}${quote}`;
      if (Array.isArray(each)) return `[${(each as readonly Json[]).map(print).join(',')}]`;
      if (typeof each !== 'object' || each === null) return JSON.stringify(each);
      const members = Object.entries(each as Readonly<Record<string, Json>>);
      return `{${members.map(([key, item]) => `${print(key)}:${print(item)}`).join(',')}}`;
    };
    const written = calls.map(({ name, args }) => {
      const members = Object.entries(args).map(([key, each]) => `${key}:${print(each)}`);
      return `${open}call:${name}{${members.join(',')}}${close}`;
    });
    return written.join('');
  };

const asTags: Write = (calls) =>
  calls
    .map(({ name, args }) => {
      const parameters = Object.entries(args).map(
        ([key, each]) =>
          `<parameter=${key}>\n${typeof each === 'string' ? each : JSON.stringify(each)}\n</parameter>\n`,
      );
      return `<tool_call>\n<function=${name}>\n${parameters.join('')}</function>\n</tool_call>`;
    })
    .join('\n');

/**
 * Matches a complete closing sequence. Arguments that contain one look like the end of the call,
 * and are excluded.
 */
const endsCall =
  /<\/parameter>\s*(?:<parameter=[^<>\n]*>|<\/function>\s*<\/tool_call>)|<\/function>\s*<\/tool_call>\s*<tool_call>\s*<function=/;

const typeOf = (each: Json): string =>
  each === null ? 'null' : Array.isArray(each) ? 'array' : typeof each;

const toolsOf = (calls: readonly Call[]): readonly ToolDefinition[] =>
  calls.map(({ name, args }) => ({
    type: 'function',
    function: {
      name,
      parameters: {
        properties: Object.fromEntries(
          Object.entries(args).map(([key, each]) => [key, { type: typeOf(each) }]),
        ),
      },
    },
  }));

const { hermes, llama3_json: llama, mistral, pythonic, qwen3_coder: coder } = toolCallParsers;
const { functiongemma, gemma4, lfm2, phi4_mini_json: phi } = toolCallParsers;
const anyKey = callsWith(text);
const identifiers = callsWith(identifier);
const separateNames = identifiers.filter(
  (calls) => new Set(calls.map(({ name }) => name)).size === calls.length,
);
/**
 * Calls whose arguments do not contain the mark, because Gemma's strings cannot hold their own
 * quotes.
 */
const withoutMark = (mark = ''): typeof identifiers =>
  separateNames.filter(
    (calls) => !JSON.stringify(calls).includes(JSON.stringify(mark).slice(1, -1)),
  );
const named: Write = (calls) =>
  calls.map(({ name, args }) => `[TOOL_CALLS]${name}[ARGS]${JSON.stringify(args)}`).join('');

describe.each<[string, ToolCallParser, fc.Arbitrary<readonly Call[]>, Write]>([
  ['hermes', hermes, anyKey, asJson(hermes)],
  ['llama3_json', llama, anyKey, asJson(llama)],
  ['mistral', mistral, anyKey, asJson(mistral)],
  ['mistral with names', mistral, anyKey, named],
  ['pythonic', pythonic, identifiers, asPython],
  [
    "pythonic with Llama 4's tags",
    pythonic,
    identifiers,
    (calls) => `<|python_start|>${asPython(calls)}<|python_end|>`,
  ],
  ['phi4_mini_json', phi, anyKey, asJson(phi)],
  [
    "phi4_mini_json with the model's tags",
    phi,
    anyKey,
    (calls) => `<|tool_call|>${asJson(phi)(calls).slice('functools'.length)}<|/tool_call|>`,
  ],
  ['lfm2', lfm2, identifiers, (calls) => `<|tool_call_start|>${asPython(calls)}<|tool_call_end|>`],
  ['lfm2 with JSON', lfm2, anyKey, asJson(lfm2)],
  [
    'functiongemma',
    functiongemma,
    withoutMark(functiongemma.markers[2]),
    asGemma(functiongemma.markers),
  ],
  ['gemma4', gemma4, withoutMark(gemma4.markers[2]), asGemma(gemma4.markers)],
  [
    'qwen3_coder',
    coder,
    separateNames.filter((calls) =>
      calls.every(({ args }) =>
        Object.values(args).every(
          (each) => typeof each !== 'string' || !endsCall.test(`${each}\n`),
        ),
      ),
    ),
    asTags,
  ],
])('calls in the syntax of %s', (_, parser, calls, write) => {
  it('are read as they were written, and while they are sampled in any pieces', () => {
    fc.assert(
      fc.property(
        calls,
        fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1 }),
        (given, sizes) => {
          const tools = toolsOf(given);
          const written = write(given);
          const { toolCalls, malformed, text: rest } = parser.parse(written, { tools });
          expect({ malformed, rest }).toEqual({ malformed: 0, rest: '' });
          expect(toolCalls.map((each) => [each.name, JSON.parse(each.arguments)])).toEqual(
            given.map(({ name, args }) => [name, JSON.parse(JSON.stringify(args))]),
          );
          const bytes = new TextEncoder().encode(written);
          const reader = createTurnReader({
            tokenBytes: Array.from({ length: 256 }, (__, byte) => Uint8Array.of(byte)),
            hidden: new Set(),
            stops: [],
            toolCalls: {
              ...parser,
              parse: (part, options) => parser.parse(part, { ...options, tools }),
            },
          });
          for (let at = 0, i = 0; at < bytes.length; i++) {
            const end = at + (sizes[i % sizes.length] ?? 1);
            const partial = reader.push(bytes.subarray(at, end)).toolCalls;
            expect(partial).toEqual(toolCalls.slice(0, partial.length));
            at = end;
          }
        },
      ),
      { numRuns: 300 },
    );
  });
});
