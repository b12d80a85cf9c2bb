import { describe, expect, it } from 'vitest';
import { deepseekR1, promptEnd, qwen3 } from './think-block.js';

describe.each([
  ['deepseek_r1', deepseekR1],
  ['qwen3', qwen3],
])('the %s parser', (_, { parse }) => {
  it.each([
    ['a block and an answer', '<think>\nhm\nso\n</think>\n\n4', { reasoning: 'hm\nso', text: '4' }],
    ['an empty block', '<think>\n\n</think>\n\n4', { text: '4' }],
    ['a block that does not end', '<think>\nhm', { reasoning: 'hm', text: '' }],
    ['a tag in the answer', '<think>a</think>b</think>', { reasoning: 'a', text: 'b</think>' }],
  ])('reads %s', (__, text, expected) => {
    expect(parse(text)).toEqual(expected);
  });
});

it('takes text without tags for reasoning (deepseek_r1) or for an answer (qwen3)', () => {
  expect(deepseekR1.parse('4')).toEqual({ reasoning: '4', text: '' });
  expect(qwen3.parse('4')).toEqual({ text: '4' });
});

it('leaves a tag alone where no block is open', () => {
  const answer = '{"a": "</think>"}';
  expect(qwen3.parse(answer)).toEqual({ text: answer });
  expect(deepseekR1.parse(answer, 'closed')).toEqual({ text: answer });
  expect(qwen3.parse(`<think>hm</think>${answer}`)).toEqual({ reasoning: 'hm', text: answer });
});

describe.each([
  ['deepseek_r1', deepseekR1],
  ['qwen3', qwen3],
])('the %s parser after a prompt', (_, parser) => {
  const after = (prompt: string, text: string): object => parser.parse(text, promptEnd(prompt));

  it('that opens a think block: what the token limit cuts off is reasoning, not the answer', () => {
    expect(after('<think>\n', 'First, I')).toEqual({ reasoning: 'First, I', text: '' });
    expect(after('<think>\n', 'hm\n</think>\n\n4')).toEqual({ reasoning: 'hm', text: '4' });
    expect(after('<think>\n', '<think>\nhm')).toEqual({ reasoning: 'hm', text: '' });
  });

  it('that closes an empty think block: there is no reasoning', () => {
    expect(after('<think>\n\n</think>\n\n', '4')).toEqual({ text: '4' });
    expect(after('<think>\n\n</think>\n\n', '<think>hm</think>4')).toEqual({
      reasoning: 'hm',
      text: '4',
    });
  });
});
