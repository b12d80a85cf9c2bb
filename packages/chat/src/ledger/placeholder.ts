/**
 * Creates a placeholder message for a recorded turn. The template formats the placeholder like the
 * turn. Marks in the placeholder show where the turn's text ends.
 */
import type { NormalMessage } from '../messages/messages.js';

/**
 * Marks that no template changes and no tokenizer receives. Each is a control string, a sequence
 * that no conversation contains; single control characters do occur, as quotation marks of
 * Windows-1252 that were decoded wrongly. The characters are below U+0100, so that V8 uses one byte
 * per character.
 */
const marks = {
  reasoning: '\u0098r\u009C',
  content: '\u0098c\u009C',
  call: '\u0098n\u009C',
} as const;

/** Creates a message with the same parts as the recorded message, and a mark for each text. */
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
 * Returns the index in `text` at which the placeholder ends, which is the first place where a stop
 * token may follow. `text` is the rendering after the prompt. Returns undefined if the template
 * omitted a part of the placeholder.
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

/** Text after a placeholder, with the call marks removed from names. */
export const withoutCallMarks = (text: string): string => text.replaceAll(marks.call, '');
