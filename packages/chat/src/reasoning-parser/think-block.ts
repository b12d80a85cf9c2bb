/** Parses reasoning before `</think>`. The parsers differ for a block without an opening tag. */
import { trimLineBreaks } from '../jinja/text-methods.js';
import type { PromptEnd, ReasoningParse, ReasoningParser } from './types.js';

const open = '<think>';
const close = '</think>';

/**
 * Reasoning ends at `</think>` only if a think block is open: otherwise the tag is text, for
 * example in a JSON string. In an open block, everything up to its end is reasoning, even if the
 * token limit cut it off.
 */
const thinkBlock = (isOpen: boolean): ReasoningParser => ({
  markers: [open, close],
  isOpen,
  parse: (text, end = 'other') => {
    const begin = text.trimStart();
    if (begin.startsWith(open)) return split(begin.slice(open.length));
    return end === 'open' || (isOpen && end === 'other') ? split(text) : { text };
  },
});

/**
 * Parser for responses that always begin with reasoning: templates of DeepSeek-R1 write `<think>`
 * into the prompt.
 */
export const deepseekR1 = thinkBlock(true);

/** Parser that takes text without a tag as an answer: Qwen3 may omit reasoning. */
export const qwen3 = thinkBlock(false);

/**
 * Splits reasoning from text. Line breaks around both belong to the syntax. An empty block counts
 * as no reasoning.
 */
function split(body: string): ReasoningParse {
  const at = body.indexOf(close);
  const reasoning = trimLineBreaks(at < 0 ? body : body.slice(0, at));
  const text = at < 0 ? '' : trimLineBreaks(body.slice(at + close.length), 'left');
  return reasoning === '' ? { text } : { reasoning, text };
}

export function promptEnd(text: string): PromptEnd {
  const end = text.trimEnd();
  if (end.endsWith(open)) return 'open';
  return end.endsWith(close) ? 'closed' : 'other';
}
