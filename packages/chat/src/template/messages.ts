/** Chat messages as agents send them, brought into the one form that templates, parsers and the ledger work on. */
import { ModelError, type ToolCall } from '@trinity-rft/core';

/** A message with text content only; what is absent was absent or empty. */
export interface NormalMessage {
  readonly role: 'system' | 'user' | 'assistant' | 'tool';
  readonly content: string;
  /** Assistant only. */
  readonly reasoning_content?: string;
  /** Assistant only; never empty. */
  readonly tool_calls?: readonly ToolCall[];
  /** Tool only. */
  readonly tool_call_id?: string;
  /** Tool only: some templates print it. */
  readonly name?: string;
}

type Loose = Readonly<Record<string, unknown>>;

const roles: Readonly<Record<string, NormalMessage['role']>> = {
  system: 'system',
  developer: 'system',
  user: 'user',
  assistant: 'assistant',
  tool: 'tool',
  // What was called `tool` before tools had ids.
  function: 'tool',
};

/**
 * Flattens content parts (joined by line breaks), reads `developer` as `system`, treats missing and null content as empty
 * and merges adjacent assistant messages, which some frameworks split one turn into.
 * @throws ModelError 400 naming the field, for roles and content a text model cannot read
 */
export function normalizeMessages(messages: readonly unknown[]): readonly NormalMessage[] {
  if (messages.length === 0) refuse('messages', 'is empty', 'at least one message');
  const out: NormalMessage[] = [];
  messages.forEach((message, i) => {
    const next = normalize(message, `messages[${i}]`);
    const last = out.at(-1);
    if (next.role === 'assistant' && last?.role === 'assistant') out[out.length - 1] = merge(last, next);
    else out.push(next);
  });
  return out;
}

function normalize(value: unknown, path: string): NormalMessage {
  if (typeof value !== 'object' || value === null) refuse(path, 'is not an object', 'a chat message');
  const message = value as Loose;
  const role = roles[String(message['role'])];
  if (!role) refuse(`${path}.role`, `is ${JSON.stringify(message['role'])}`, 'system, developer, user, assistant or tool');
  const content = flatten(message['content'], `${path}.content`);
  if (role === 'assistant') return assistant(message, content, path);
  if (role !== 'tool') return { role, content };
  const { tool_call_id: id, name } = message;
  return { role, content, ...(typeof id === 'string' && { tool_call_id: id }), ...(typeof name === 'string' && { name }) };
}

function assistant(message: Loose, content: string, path: string): NormalMessage {
  const reasoning = message['reasoning_content'] ?? message['reasoning'];
  const calls = message['tool_calls'] ?? [];
  if (!Array.isArray(calls)) refuse(`${path}.tool_calls`, 'is not a list', 'a list of tool calls');
  const toolCalls = (calls as readonly unknown[]).map((call, i) => toolCall(call, `${path}.tool_calls[${i}]`));
  return {
    role: 'assistant',
    content,
    ...(typeof reasoning === 'string' && reasoning !== '' && { reasoning_content: reasoning }),
    ...(toolCalls.length > 0 && { tool_calls: toolCalls }),
  };
}

function toolCall(value: unknown, path: string): ToolCall {
  const call = value as { id?: unknown; function?: { name?: unknown; arguments?: unknown } } | null;
  const { name, arguments: given } = call?.function ?? {};
  if (typeof name !== 'string') refuse(`${path}.function.name`, 'is missing', 'the name of a function');
  const raw = typeof given === 'string' ? given : JSON.stringify(given ?? {});
  return { id: typeof call?.id === 'string' ? call.id : '', type: 'function', function: { name: name as string, arguments: raw } };
}

/** Content parts that carry text, and the key it is under. */
const textParts: Readonly<Record<string, string>> = { text: 'text', input_text: 'text', output_text: 'text', refusal: 'refusal' };

function flatten(content: unknown, path: string): string {
  if (typeof content === 'string') return content;
  if (content === undefined || content === null) return '';
  if (!Array.isArray(content)) refuse(path, 'is neither text nor a list of parts', 'a string or content parts');
  return (content as readonly unknown[])
    .map((part, i) => {
      if (typeof part === 'string') return part;
      const { type } = (part ?? {}) as Loose;
      const text = (part as Loose | null)?.[textParts[String(type)] ?? ''];
      if (typeof text !== 'string')
        refuse(`${path}[${i}].type`, `is ${JSON.stringify(type)}`, 'text; this model reads no images, audio or files');
      return text as string;
    })
    .join('\n');
}

function merge(a: NormalMessage, b: NormalMessage): NormalMessage {
  const join = (...parts: readonly (string | undefined)[]): string => parts.filter(Boolean).join('\n');
  const reasoning = join(a.reasoning_content, b.reasoning_content);
  const toolCalls = [...(a.tool_calls ?? []), ...(b.tool_calls ?? [])];
  return {
    role: 'assistant',
    content: join(a.content, b.content),
    ...(reasoning !== '' && { reasoning_content: reasoning }),
    ...(toolCalls.length > 0 && { tool_calls: toolCalls }),
  };
}

function refuse(param: string, what: string, expected: string): never {
  throw new ModelError(`${param} ${what}. Expected ${expected}.`, { status: 400, code: 'invalid_request', details: { param } });
}
