/** Reasoning before `</think>`; the parsers differ for a block without an end. */
import type { ReasoningParse, ReasoningParser } from './types.js';

const open = '<think>';
const close = '</think>';
const markers = [open, close];

/**
 * Everything is reasoning until `</think>`: DeepSeek-R1's template writes `<think>` into the
 * prompt, so it may be missing.
 */
export const deepseekR1: ReasoningParser = {
  markers,
  parse: (text) => split(text) ?? withReasoning(text, ''),
};

/** As `deepseekR1`, but text without any tag is an answer: Qwen3 may omit reasoning. */
export const qwen3: ReasoningParser = {
  markers,
  parse: (text) =>
    split(text) ?? (text.trimStart().startsWith(open) ? withReasoning(text, '') : { text }),
};

function split(text: string): ReasoningParse | undefined {
  const end = text.indexOf(close);
  return end < 0 ? undefined : withReasoning(text.slice(0, end), text.slice(end + close.length));
}

/** Line breaks around both parts belong to the syntax. An empty block counts as no reasoning. */
function withReasoning(before: string, after: string): ReasoningParse {
  const begin = before.trimStart();
  const reasoning = (begin.startsWith(open) ? begin.slice(open.length) : before).replace(
    /^\n+|\n+$/g,
    '',
  );
  const text = after.replace(/^\n+/, '');
  return reasoning === '' ? { text } : { reasoning, text };
}
