/**
 * Creates placeholder messages for recorded turns. The template formats a placeholder like the turn
 * itself, and marks in the placeholder show where the turn ends in the rendering.
 */
import type { NormalMessage } from '../messages/messages.js';

/**
 * Marks for the parts of a message. Each is a control string: a sequence that no conversation
 * contains and no template changes. No tokenizer receives the marks. Single control characters
 * would not do, because they occur in Windows-1252 text that was decoded wrongly. All characters
 * are below U+0100, so that V8 stores a string with one byte per character.
 */
const marks = {
  reasoning: '\u0098r\u009C',
  content: '\u0098c\u009C',
  call: '\u0098n\u009C',
} as const;

/**
 * Creates a message with the same parts as the recorded message, in which marks replace the texts.
 */
export function toPlaceholder(message: NormalMessage): NormalMessage {
  const { content, reasoning_content: reasoning, tool_calls: calls } = message;
  return {
    role: 'assistant',
    content: content === '' ? '' : contentMark(content),
    ...(reasoning !== undefined && { reasoning_content: marks.reasoning }),
    ...(calls && {
      tool_calls: calls.map(({ id, type, function: { name } }) => ({
        id,
        type,
        // Templates print the function name with the result of a call, so the name needs a mark
        // too.
        function: { name: `${marks.call}${name}`, arguments: '{}' },
      })),
    }),
  };
}

/**
 * Returns the mark that replaces the content. If the content contains a think block, a think block
 * with its own mark precedes it.
 */
const contentMark = (content: string): string =>
  content.includes('</think>')
    ? `<think>\n${marks.reasoning}\n</think>\n\n${marks.content}`
    : marks.content;

/**
 * Returns the index at which the placeholder ends, which is the first position where a stop token
 * may follow. Returns undefined if the template left out a part of the placeholder.
 * @param text rendering of the placeholder and of later messages
 */
export function endOfPlaceholder(message: NormalMessage, text: string): number | undefined {
  const { reasoning_content: reasoning, content, tool_calls: calls = [] } = message;
  const expected = `${reasoning ?? ''}${content}`.match(/\u0098[rc]\u009C/g) ?? [];
  let at = 0;
  for (const mark of [...expected, ...calls.map(() => marks.call)]) {
    const found = text.indexOf(mark, at);
    if (found < 0) return undefined;
    at = found + mark.length;
  }
  return at;
}

/** Removes the marks from the names of tools in the text after a placeholder. */
export const withoutCallMarks = (text: string): string => text.replaceAll(marks.call, '');
