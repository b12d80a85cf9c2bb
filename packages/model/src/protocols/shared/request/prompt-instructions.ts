/** Instructions of the endpoint to the model, as part of the prompt. */
import { isRecord } from './fields.js';

/**
 * Appends to the leading system (or developer) message, or puts one in front. Equal requests give
 * equal text, so that a conversation whose turns ask for the same thing continues on its recorded
 * tokens. Other messages stay as they are.
 */
export function withInstructions(
  messages: readonly unknown[],
  instructions: readonly (string | undefined)[],
): readonly unknown[] {
  const text = instructions.filter(Boolean).join('\n\n');
  if (text === '') return messages;
  const [first, ...rest] = messages;
  if (!isRecord(first) || (first['role'] !== 'system' && first['role'] !== 'developer')) {
    return [{ role: 'system', content: text }, ...messages];
  }
  return [{ ...first, content: joined(first['content'], text) }, ...rest];
}

function joined(content: unknown, text: string): unknown {
  if (content === undefined || content === null || content === '') return text;
  if (typeof content === 'string') return `${content}\n\n${text}`;
  // Parts are joined by line breaks; what is neither text nor parts is refused later, by name.
  return Array.isArray(content)
    ? [...(content as readonly unknown[]), { type: 'text', text: `\n${text}` }]
    : content;
}
