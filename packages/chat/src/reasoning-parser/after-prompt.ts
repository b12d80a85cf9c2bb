/** Reasoning that began in the prompt: some templates open a think block, or close an empty one. */
import type { ReasoningParser } from './types.js';

/** Whether the prompt ends inside a think block, after one, or with neither. */
export type PromptEnd = 'open' | 'closed' | 'other';

/**
 * The parser of a response to such a prompt: after an open block everything up to its end is
 * reasoning, even when the token limit cut it off; after a closed one there is none.
 */
export function afterPrompt(parser: ReasoningParser, end: PromptEnd): ReasoningParser {
  const [open = ''] = parser.markers;
  const opens = (text: string): boolean => text.trimStart().startsWith(open);
  if (end === 'open')
    return { ...parser, parse: (text) => parser.parse(opens(text) ? text : open + text) };
  if (end === 'closed')
    return { ...parser, parse: (text) => (opens(text) ? parser.parse(text) : { text }) };
  return parser;
}

export function promptEnd(text: string): PromptEnd {
  const end = text.trimEnd();
  if (end.endsWith('<think>')) return 'open';
  return end.endsWith('</think>') ? 'closed' : 'other';
}
