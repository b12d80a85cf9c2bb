/**
 * A message in place of a recorded turn: it makes the template do the same, and shows where the
 * turn's text would be.
 */
import type { NormalMessage } from '../template/messages.js';

/**
 * Control characters that no template changes and no tokenizer sees; below U+0100, so that a text
 * takes one byte per character.
 */
const marks = { reasoning: '\u0091', content: '\u0092', call: '\u0093' } as const;

/**
 * Same parts as the recorded message, each with a mark for text. A think block inside the text
 * stays one.
 */
export function standIn(message: NormalMessage): NormalMessage {
  const thinks = message.content.includes('</think>');
  return {
    role: 'assistant',
    content:
      message.content === ''
        ? ''
        : thinks
          ? `<think>\n${marks.reasoning}\n</think>\n\n${marks.content}`
          : marks.content,
    ...(message.reasoning_content !== undefined && { reasoning_content: marks.reasoning }),
    ...(message.tool_calls && {
      tool_calls: message.tool_calls.map(({ id, type }) => ({
        id,
        type,
        function: { name: marks.call, arguments: '{}' },
      })),
    }),
  };
}

/**
 * Where the stand-in's text is over in `text`, the rendering after its prompt: the first position
 * from which a stop token may follow. `undefined` when the template left a part of it out.
 */
export function endOfStandIn(message: NormalMessage, text: string): number | undefined {
  const { reasoning_content: reasoning, content, tool_calls: calls = [] } = message;
  const wanted = Array.from(`${reasoning ?? ''}${content}`).filter(
    (character) => character === marks.reasoning || character === marks.content,
  );
  let at = 0;
  for (const mark of [...wanted, ...calls.map(() => marks.call)]) {
    const found = text.indexOf(mark, at);
    if (found < 0) return undefined;
    at = found + mark.length;
  }
  return at;
}
