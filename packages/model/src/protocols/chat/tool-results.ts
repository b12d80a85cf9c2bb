/**
 * Tool messages must answer calls: OpenAI's servers refuse others, so agents that work there do not
 * send them.
 */
import { given, isRecord } from '../shared/request/fields.js';
import { quote, refusal } from '../shared/request/invalid-request.js';

/**
 * Ids may be used again in later messages (examples in prompts do that), but not twice within one
 * message: a result would answer either. Results without an id pass, as older agents send them.
 * @throws ModelError 400 naming the message
 */
export function checkToolResults(messages: readonly unknown[]): void {
  const known = new Set<unknown>();
  messages.forEach((message, i) => {
    if (!isRecord(message)) return;
    const { role, tool_call_id: id } = message;
    if (role === 'assistant')
      for (const called of callIds(message['tool_calls'], i)) known.add(called);
    if (role !== 'tool' || !given(id)) return;
    const path = `messages[${i}].tool_call_id`;
    if (typeof id !== 'string') throw refusal(path, `is ${quote(id)}`, 'a string');
    if (!known.has(id))
      throw refusal(
        path,
        `is ${quote(id)}, which no message before it calls`,
        'the id of a tool call of an earlier assistant message',
      );
  });
}

function callIds(calls: unknown, message: number): ReadonlySet<string> {
  const ids = new Set<string>();
  if (!Array.isArray(calls)) return ids;
  (calls as readonly unknown[]).forEach((call, k) => {
    const id = isRecord(call) ? call['id'] : undefined;
    if (!given(id)) return;
    const path = `messages[${message}].tool_calls[${k}].id`;
    if (typeof id !== 'string') throw refusal(path, `is ${quote(id)}`, 'a string');
    if (id !== '' && ids.has(id))
      throw refusal(path, `is ${quote(id)} again`, 'a different id for every call of a message');
    ids.add(id);
  });
  return ids;
}
