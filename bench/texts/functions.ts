/** Every function that reads texts of models, agents and files, and adversarial texts for them. */
import { charOptions, testFormat } from '../../packages/chat/test/helpers.ts';
import { createTurnReader } from '../../packages/chat/src/format/turn-reader.ts';
import { filterNames } from '../../packages/chat/src/jinja/filters.ts';
import { compileJinja } from '../../packages/chat/src/jinja/jinja.ts';
import { textMethodNames } from '../../packages/chat/src/jinja/text-methods.ts';
import { reasoningParsers } from '../../packages/chat/src/reasoning-parser/table.ts';
import { buildCharTokenizer } from '../../packages/chat/src/tokenizer/char-tokenizer.ts';
import { createTokenizer } from '../../packages/chat/src/tokenizer/tokenizer.ts';
import { toolCallParsers } from '../../packages/chat/src/tool-call-parser/table.ts';
import { readCommand } from '../../packages/environment/src/drivers/miniwob/commands.ts';
import {
  checkBoxedAnswer,
  checkMathAnswer,
} from '../../packages/workflow/src/reward/math/check.ts';
import {
  createRewardFn,
  original,
  rewardFnNames,
} from '../../packages/workflow/src/reward/index.ts';
import { parseScores } from '../../packages/workflow/src/built-in/judge/parse-judge-reply.ts';

type Read = (text: string) => unknown;

/** Texts that are repeated up to the wanted length, each with a final text. */
const units = [
  ...[' ', '\n', '\t', 'a', 'é', '0', '.', '"', "'", '\\', '{', '[', '(', '<', '$', '-', '/'],
  ...[
    '{}',
    '[]',
    '\\"',
    '{"a":',
    '[1,',
    '{"name": "f", "parameters": {',
    '{ ":',
    '"a",',
    '1.0',
    '\\(',
  ],
  ...['<think>', '</think>', '<think>\n', '<tool_call>', '<tool_call>{"name":"f"}</tool_call>'],
  ...['<tool_call>{"a":"', '</tool_call>', '<function=', '<function=f>', '<parameter=a>'],
  ...[
    '<tool_call><function=f><parameter=a>',
    '</parameter>',
    '</parameter></function>',
    '</parameter> ',
  ],
  ...['[TOOL_CALLS]', '[TOOL_CALLS]f[ARGS]{', '[TOOL_CALLS][{"name":"f"},', '<|python_tag|>'],
  ...[
    '[f(',
    '[f(a=[',
    "'a' ",
    'a b',
    '\\boxed{',
    '\\boxed ',
    '\\frac',
    '\\text{',
    '<answer>',
    '1/',
    '1+',
  ],
  ...[
    '<answer>1</answer>\n',
    'a1',
    '1,000',
    '=',
    '**',
    '```',
    ' \n',
    '&',
    '%s',
    '{x}',
    '\u{1F600}',
  ],
];
const ends = ['x', '', '"', '}', '\n!'];

/**
 * Adversarial texts of about `length` characters.
 * @param few true for a subset of the texts, for functions without a syntax
 */
export const adversarial = (length: number, few = false): readonly string[] =>
  (few ? [' ', 'a b', '{}', '%s', '1.0'] : units).flatMap((unit) =>
    (few ? ends.slice(0, 1) : ends).map(
      (end) => unit.repeat(Math.ceil(length / unit.length)).slice(0, length) + end,
    ),
  );

/** Pre-tokenizer patterns of real tokenizers. */
const patterns: Readonly<Record<string, string>> = {
  'gpt-2': `'(?:[sdmt]|ll|ve|re)| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+`,
  'llama-3': `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+`,
  'qwen-2': `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+`,
  o200k: `[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]*[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]+|[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]+[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]*|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+`,
};

function tokenizerWith(pattern: string): Read {
  const files = buildCharTokenizer(charOptions);
  const split = { type: 'Split', pattern: { Regex: pattern }, behavior: 'Isolated', invert: false };
  const tokenizer = createTokenizer({
    ...files,
    tokenizer: { ...files.tokenizer, pre_tokenizer: split },
  });
  return (text) => tokenizer.encode(text);
}

function template(source: string): Read {
  const render = compileJinja(source, { now: new Date(0) });
  return (text) => render(new Map([['x', text]]));
}

/** Arguments that a method or filter needs to have an effect. */
const argumentsOf = (name: string): string =>
  /^(?:r?partition|r?find|r?index|count|startswith|endswith|remove\w+|attr|groupby)$/.test(name)
    ? '"a"'
    : name === 'replace'
      ? '"a", "bb"'
      : /^(?:map|select|reject)$/.test(name)
        ? '"string"'
        : '';

const rewardArgs: Readonly<Record<string, object>> = {
  length_penalty_reward: { max_response_length: 10 },
  overlong_penalty_reward: { max_response_length: 10, cache_length: 5 },
};

function rewardNamed(name: string): Read {
  const score = createRewardFn(name, (rewardArgs[name] ?? {}) as Record<string, unknown>);
  const truth =
    name === 'countdown_reward'
      ? '{"target": 1, "numbers": [1]}'
      : name === 'tool_call_reward'
        ? '[]'
        : '1';
  return (response) => score({ response, truth, responseTokens: 3 } as Parameters<typeof score>[0]);
}

function inPieces(name: keyof typeof toolCallParsers, size: number): Read {
  const tokenBytes = Array.from({ length: 256 }, (_, byte) => Uint8Array.of(byte));
  return (text) => {
    const reader = createTurnReader({
      tokenBytes,
      hidden: new Set(),
      stops: [],
      reasoning: reasoningParsers.qwen3,
      toolCalls: toolCallParsers[name],
    });
    const bytes = new TextEncoder().encode(text);
    for (let at = 0; at < bytes.length; at += size) reader.push(bytes.subarray(at, at + size));
  };
}

const parserNames = Object.keys(toolCallParsers) as (keyof typeof toolCallParsers)[];
const tools = [
  {
    type: 'function',
    function: { name: 'f', parameters: { properties: { a: { type: 'array' } } } },
  },
] as const;

/** Functions by kind and name. */
export const textFunctions: Readonly<Record<string, Read>> = {
  ...Object.fromEntries<Read>([
    ...parserNames.map((name): [string, Read] => [
      `tool calls, ${name}`,
      (text) => toolCallParsers[name].parse(text, { tools }),
    ]),
    ...parserNames.map((name): [string, Read] => [`streamed calls, ${name}`, inPieces(name, 400)]),
    ...Object.entries(reasoningParsers).map(([name, { parse }]): [string, Read] => [
      `reasoning, ${name}`,
      (text) => parse(text, 'open'),
    ]),
    ...filterNames.map((name): [string, Read] => [
      `filter ${name}`,
      template(`{{ x | ${name}(${argumentsOf(name)}) }}`),
    ]),
    ...textMethodNames.map((name): [string, Read] => [
      `method ${name}`,
      template(`{{ x.${name}(${argumentsOf(name)}) }}`),
    ]),
    ...rewardFnNames
      .filter((name) => name !== 'rm_gallery_reward')
      .map((name): [string, Read] => [`reward ${name}`, rewardNamed(name)]),
    ...Object.entries(patterns).map(([name, pattern]): [string, Read] => [
      `pre-tokenizer ${name}`,
      tokenizerWith(pattern),
    ]),
  ]),
  'template source': (text) => compileJinja(text, { now: new Date(0) }),
  'chat format': (text) => testFormat().render({ messages: [{ role: 'user', content: text }] }),
  checkMathAnswer: (text) => checkMathAnswer(text, '1'),
  checkBoxedAnswer: (text) => checkBoxedAnswer(text, '1'),
  'original.computeScoreV0': (text) => original.computeScoreV0(text, '1'),
  parseScores: (text) => parseScores(text, 1),
  readCommand: (text) => readCommand(text),
};

/** Longest time over all texts in ms, and the slowest text. Errors count as results. */
export async function slowest(
  read: Read,
  texts: readonly string[],
): Promise<{ readonly ms: number; readonly text: string }> {
  let worst = { ms: 0, text: '' };
  for (const text of texts) {
    const begin = performance.now();
    try {
      await read(text);
    } catch {
      // The function refuses the text.
    }
    const ms = performance.now() - begin;
    if (ms > worst.ms) worst = { ms, text };
  }
  return worst;
}
