/** Adds instructions for the model to the messages of a prompt. */
import { isObject } from '../json/object.js';

/**
 * Role of the message that gets the instructions: `user` if the chat template prints no system
 * message.
 */
export type InstructionRole = 'system' | 'user';

/**
 * Appends the instructions to the leading system (or developer) message, or inserts a system
 * message. With the role `user`, prepends them to the first user message instead, if there is one.
 * Does not change other messages. The result depends only on the arguments, so that a conversation
 * that requests the same format in each turn can continue from its recorded tokens.
 */
export function withInstructions(
  messages: readonly unknown[],
  instructions: readonly (string | undefined)[],
  role: InstructionRole,
): readonly unknown[] {
  const text = instructions.filter(Boolean).join('\n\n');
  if (text === '') return messages;
  const user = messages.findIndex((message) => isObject(message) && message['role'] === 'user');
  if (role === 'user' && user >= 0)
    return messages.map((message, i) =>
      i === user && isObject(message)
        ? { ...message, content: joined(message['content'], text, 'before') }
        : message,
    );
  const [first, ...rest] = messages;
  if (!isObject(first) || (first['role'] !== 'system' && first['role'] !== 'developer'))
    return [{ role: 'system', content: text }, ...messages];
  return [{ ...first, content: joined(first['content'], text, 'after') }, ...rest];
}

function joined(content: unknown, text: string, place: 'before' | 'after'): unknown {
  if (content === undefined || content === null || content === '') return text;
  const inOrder = <T>(own: T, added: T): readonly T[] =>
    place === 'before' ? [added, own] : [own, added];
  if (typeof content === 'string') return inOrder(content, text).join('\n\n');
  // Parts are joined with a line break, so the added part has a second one. Content of any other
  // type is rejected later, with its path.
  if (!Array.isArray(content)) return content;
  const part = { type: 'text', text: place === 'before' ? `${text}\n` : `\n${text}` };
  return inOrder<readonly unknown[]>(content, [part]).flat();
}
