import { describe, expect, it } from 'vitest';
import { deepseekR1, gemma4, mistral, promptEnd, qwen3 } from './think-block.js';

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
  const after = (prompt: string, text: string): object =>
    parser.parse(text, promptEnd(prompt, parser.markers));

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

describe('reasoning that a call ends', () => {
  const call = '<tool_call>\n<function=f>\n</function>\n</tool_call>';

  it('ends before the call (qwen3), or continues (deepseek_r1)', () => {
    expect(qwen3.parse(`<think>\nhm\n${call}`)).toEqual({
      reasoning: 'hm',
      text: call,
      isCutByCall: true,
    });
    expect(qwen3.parse(`hm ${call}`, 'open')).toMatchObject({ reasoning: 'hm ', text: call });
    expect(deepseekR1.parse(`<think>hm${call}`)).toEqual({ reasoning: `hm${call}`, text: '' });
  });

  it('does not end at a tag without a call, nor where a closing tag follows', () => {
    for (const thought of ['use <tool_call> tags', `write ${call}`])
      expect(qwen3.parse(`<think>${thought}</think>4`)).toEqual({ reasoning: thought, text: '4' });
    expect(qwen3.parse('<think>use <tool_call> tags')).toEqual({
      reasoning: 'use <tool_call> tags',
      text: '',
    });
  });

  it('is found for gemma4 too', () => {
    const text = '<|tool_call>call:f{}<tool_call|>';
    expect(gemma4.parse(`<|channel>thought\nhm${text}`)).toMatchObject({ reasoning: 'hm', text });
  });
});

it('reads the channel of Gemma 4 without its heading', () => {
  expect(gemma4.parse('<|channel>thought\nhm\n<channel|>4')).toEqual({
    reasoning: 'hm',
    text: '4',
  });
  expect(gemma4.parse('<|channel>thought\n<channel|>4')).toEqual({ text: '4' });
  expect(gemma4.parse('<|channel>thought')).toEqual({ text: '' });
  expect(gemma4.parse('<|channel>thoughtful<channel|>4')).toMatchObject({
    reasoning: 'thoughtful',
  });
  expect(gemma4.parse('4', promptEnd('<|channel>thought\n<channel|>', gemma4.markers))).toEqual({
    text: '4',
  });
});

it('reads the block of Mistral', () => {
  expect(mistral.parse('[THINK]hm[/THINK]4')).toEqual({ reasoning: 'hm', text: '4' });
});
