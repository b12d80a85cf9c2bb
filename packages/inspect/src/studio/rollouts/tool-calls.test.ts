import { buildCharTokenizer, chatTemplates, createTokenizer } from '@trinity-rft/chat';
import { expect, it } from 'vitest';
import { toolCallReader } from './tool-calls.js';

const tokenizer = createTokenizer(
  buildCharTokenizer({
    characters: `\n${Array.from({ length: 95 }, (_, i) => String.fromCharCode(32 + i)).join('')}`,
    eosToken: '\u0003',
    chatTemplate: chatTemplates.minimal,
  }),
);

it.each([
  ['hermes', '<tool_call>{"name": "add", "arguments": {}}</tool_call>'],
  ['qwen3_coder', '<tool_call><function=add><parameter=a>1</parameter></function></tool_call>'],
  ['mistral', '[TOOL_CALLS]add[ARGS]{"a": 1}'],
  ['llama3_json', '<|python_tag|>{"name": "add", "parameters": {}}'],
  ['lfm2', '<|tool_call_start|>[add(a=1)]<|tool_call_end|>'],
  ['gemma4', '<|tool_call>call:add{a:1}<tool_call|>'],
  ['functiongemma', '<start_function_call>call:add{a:1}<end_function_call>'],
])('finds calls of %s with their names', (_, text) => {
  const tokens = Int32Array.from(tokenizer.encode(`So: ${text}`));
  const actionMask = new Uint8Array(tokens.length).fill(1);
  const found = toolCallReader(tokenizer)({ tokens, promptLength: 0, actionMask });
  expect(found).toEqual([{ name: 'add', at: 4 }]);
});
