/** Adds instructions for the model to the messages of a prompt. */
import type { NormalMessage } from './messages.js';

/**
 * Role of the message that gets the instructions: `user` if the chat template prints no system
 * message.
 */
export type InstructionRole = 'system' | 'user';

/**
 * Appends the instructions to the leading system message, or inserts a system message. With the
 * role `user`, prepends them to the first user message instead, if there is one. Does not change
 * other messages. The result depends only on the arguments, so that a conversation that requests
 * the same format in each turn can continue from its recorded tokens.
 */
export function withInstructions(
  messages: readonly NormalMessage[],
  instructions: readonly (string | undefined)[],
  role: InstructionRole,
): readonly NormalMessage[] {
  const text = instructions.filter(Boolean).join('\n\n');
  if (text === '') return messages;
  const user = messages.findIndex((message) => message.role === 'user');
  if (role === 'user' && user >= 0)
    return messages.map((message, i) =>
      i === user ? { ...message, content: joined(text, message.content) } : message,
    );
  const [first, ...rest] = messages;
  if (first?.role !== 'system') return [{ role: 'system', content: text }, ...messages];
  return [{ ...first, content: joined(first.content, text) }, ...rest];
}

const joined = (...texts: readonly string[]): string => texts.filter(Boolean).join('\n\n');
