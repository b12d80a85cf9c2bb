import { describe, expect, it } from 'vitest';
import { charOptions, testFormat } from '../../test/helpers.js';
import { fixture, specialTokens } from '../../test/rendering.js';
import { chatTemplates } from '../template/chat-templates.js';
import { createChatTemplate } from '../template/template.js';
import { buildCharTokenizer } from '../tokenizer/char-tokenizer.js';
import { createTokenizer } from '../tokenizer/tokenizer.js';
import { detectReasoningParser, detectToolCallParser } from './detect-parsers.js';

const tokenizerWith = (tokens: readonly string[]) =>
  createTokenizer(buildCharTokenizer({ ...charOptions, specialTokens: tokens }));
const detected = (source: string, tokens: readonly string[] = []) => {
  const template = createChatTemplate(source, specialTokens);
  return [detectToolCallParser(template, tokenizerWith(tokens)), detectReasoningParser(template)];
};

describe('the parsers of published chat templates', () => {
  it.each([
    ['qwen2.5', 'hermes', undefined],
    ['qwen3', 'hermes', 'qwen3'],
    ['qwen3-coder', 'qwen3_coder', undefined],
    ['qwen3.5', 'qwen3_coder', 'qwen3'],
    ['granite-4.1', 'hermes', undefined],
    ['mistral-nemo', 'mistral', undefined],
    ['ministral-3', 'mistral', 'mistral'],
  ])('%s are %s and %s', (name, toolCalls, reasoning) => {
    expect(detected(fixture(`${name}.jinja`))).toEqual([toolCalls, reasoning]);
  });
});

const silent = '{% for m in messages %}{{ m.content }}{% endfor %}';

describe('where the template prints no calls', () => {
  it.each([
    ['<start_function_call> <end_function_call>', 'functiongemma'],
    ['<|tool_call_start|> <|tool_call_end|>', 'lfm2'],
    ['<|tool_call|> <|/tool_call|>', 'phi4_mini_json'],
    ['<|python_start|> <|python_end|>', 'pythonic'],
    ['<|tool_call|>', undefined],
  ])('the tokens %s mean %s', (tokens, parser) => {
    expect(detected(silent, tokens.split(' '))).toEqual([parser, undefined]);
  });

  it.each([
    ['Write functools[{...}].', 'phi4_mini_json'],
    ['Respond with {"name": function name, "parameters": dictionary}.', 'llama3_json'],
  ])('the sentence %s means %s', (sentence, parser) => {
    expect(detected(`{{ '${sentence}' }}${silent}`)).toEqual([parser, undefined]);
  });
});

it('a syntax that holds another one is not the other', () => {
  const seed =
    '{% for m in messages %}{{ m.content }}{% for c in m.tool_calls or [] %}<seed:tool_call><function={{ c.function.name }}><parameter=key>{{ c.function.arguments.key }}</parameter></function></seed:tool_call>{% endfor %}{% endfor %}';
  expect(detected(seed)).toEqual([undefined, undefined]);
});

describe('a chat format with the parsers auto', () => {
  const auto = { toolCallParser: 'auto', reasoningParser: 'auto' };

  it('reads calls and reasoning as the template writes them', () => {
    const format = testFormat(chatTemplates.chatml, auto);
    const turn =
      '<think>\nhm\n</think>\n\n<tool_call>{"name":"f","arguments":{}}</tool_call><|im_end|>';
    expect(format.readTurn(format.encode(turn), { tools: true })).toMatchObject({
      reasoning: 'hm',
      toolCalls: [{ name: 'f', arguments: '{}' }],
    });
  });

  it('asks for a parser where nothing shows the syntax, unless messages describe tools', () => {
    expect(() => testFormat(silent, auto)).toThrow(
      expect.objectContaining({ code: 'PARSER_NOT_DETECTED' }),
    );
    expect(testFormat(silent, { ...auto, toolPrompt: 'generic' }).printsTools).toBe(true);
  });
});
