/** Adds the endpoint's instructions for the model to the prompt. */
import { isObject } from './fields.js';

/**
 * Appends the instructions to the leading system (or developer) message, or inserts a system
 * message. Does not change other messages. Equal requests get equal text, so that a conversation
 * that requests the same format in each turn can continue from its recorded tokens.
 */
export function withInstructions(
  messages: readonly unknown[],
  instructions: readonly (string | undefined)[],
): readonly unknown[] {
  const text = instructions.filter(Boolean).join('\n\n');
  if (text === '') return messages;
  const [first, ...rest] = messages;
  if (!isObject(first) || (first['role'] !== 'system' && first['role'] !== 'developer')) {
    return [{ role: 'system', content: text }, ...messages];
  }
  return [{ ...first, content: appended(first['content'], text) }, ...rest];
}

function appended(content: unknown, text: string): unknown {
  if (content === undefined || content === null || content === '') return text;
  if (typeof content === 'string') return `${content}\n\n${text}`;
  // A list of parts gets another part that begins with a line break. Content of any other type is
  // rejected later, with its path.
  return Array.isArray(content)
    ? [...(content as readonly unknown[]), { type: 'text', text: `\n${text}` }]
    : content;
}
