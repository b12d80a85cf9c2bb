/**
 * Parses reasoning in a block at the beginning of a response, such as `<think>...</think>`. Parsers
 * differ in their markers, and in how they read a response without the opening marker.
 */
import { trimLineBreaks } from '../jinja/texts.js';
import type { PromptEnd, ReasoningParse, ReasoningParser } from './types.js';

interface BlockOptions extends Partial<Omit<ReasoningParser, 'parse'>> {
  /**
   * Matches the start of a tool call that ends a reasoning block without closing marker.
   * @default no pattern: calls do not end a block
   */
  readonly callStart?: RegExp;
}

/**
 * Creates a parser for reasoning in a block. The closing marker only counts while a block is open;
 * otherwise it is ordinary text, for example in a JSON string. If the token limit cuts off a block
 * before its closing marker, everything in it is reasoning.
 */
function thinkBlock(options: BlockOptions): ReasoningParser {
  const { markers = ['<think>', '</think>'], isOpen = false, heading = '' } = options;
  const { callMark, callStart } = options;
  const [open, close] = markers;
  const split = (body: string): ReasoningParse => {
    const closed = body.indexOf(close);
    if (closed >= 0) return parts(body.slice(0, closed), body.slice(closed + close.length));
    const call = callStart ? body.search(callStart) : -1;
    if (call < 0) return parts(body, '');
    return { ...parts(body.slice(0, call), body.slice(call)), isCutByCall: true };
  };
  const parts = (block: string, rest: string): ReasoningParse => {
    const reasoning = trimLineBreaks(withoutHeading(trimLineBreaks(block), heading));
    const text = trimLineBreaks(rest, 'left');
    return reasoning === '' ? { text } : { reasoning, text };
  };
  return {
    markers,
    isOpen,
    heading,
    callMark,
    parse: (text, end = 'other') => {
      const begin = text.trimStart();
      if (begin.startsWith(open)) return split(begin.slice(open.length));
      return end === 'open' || (isOpen && end === 'other') ? split(text) : { text };
    },
  };
}

const withoutHeading = (block: string, heading: string): string =>
  `${block}\n`.startsWith(heading) ? block.slice(heading.length) : block;

/**
 * Parser for DeepSeek-R1, whose responses always begin with reasoning: its templates write
 * `<think>` at the end of the prompt.
 */
export const deepseekR1 = thinkBlock({ isOpen: true });

/**
 * Parser for Qwen3, which may omit reasoning: a response without `<think>` has none. Qwen 3.5 may
 * call a tool without closing the block, so a call also ends reasoning; a `<tool_call>` tag without
 * a call is part of the reasoning.
 */
export const qwen3 = thinkBlock({
  callMark: '<tool_call>',
  callStart: /<tool_call>\s*(?:[<{]|$)/,
});

/** Parser for Gemma 4, whose reasoning is in a channel block. */
export const gemma4 = thinkBlock({
  markers: ['<|channel>', '<channel|>'],
  heading: 'thought\n',
  callMark: '<|tool_call>',
  callStart: /<\|tool_call>/,
});

/** Parser for Mistral's reasoning models from Ministral 3 on. */
export const mistral = thinkBlock({ markers: ['[THINK]', '[/THINK]'] });

/**
 * Returns how a prompt ends: with the opening marker of reasoning, with the closing marker, or with
 * neither. Ignores white space at the end.
 */
export function promptEnd(text: string, [open, close]: ReasoningParser['markers']): PromptEnd {
  const end = text.trimEnd();
  if (end.endsWith(open)) return 'open';
  return end.endsWith(close) ? 'closed' : 'other';
}
