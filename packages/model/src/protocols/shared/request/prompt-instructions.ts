/** Instructions of the endpoint to the model, as part of the prompt. */
import { isObject } from './fields.js';

/**
 * Appends to the leading system (or developer) message, or inserts one. Equal requests give equal
 * text, so a conversation whose turns ask for the same format continues on its recorded tokens.
 * Other messages stay as they are.
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
  // Parts are joined by line breaks. Content of any other type is rejected later, with its path.
  return Array.isArray(content)
    ? [...(content as readonly unknown[]), { type: 'text', text: `\n${text}` }]
    : content;
}
