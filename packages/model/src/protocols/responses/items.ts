/** Items of the Responses API, and the chat messages that correspond to them. */
import { normalizeMessages, type NormalMessage } from '@trinity-rft/chat';
import { invalidRequest, quote } from '@trinity-rft/chat/internal';
import { ModelError } from '@trinity-rft/core';
import { isObject, isPresent, type JsonObject } from '../shared/request/fields.js';
import { openReasoning } from '../shared/sealed-reasoning.js';

/** An input or output item. References to stored items have been replaced with these items. */
export interface Item {
  /** JSON of the item as it was sent or received. */
  readonly wire: JsonObject;
  readonly message: NormalMessage;
  /** Index of the recorded call that produced the item. */
  readonly callIndex?: number;
}

/** Returns a stored item of this rollout, or undefined if the id is unknown. */
export type FindItem = (id: string) => Item | undefined;

/**
 * Converts the input of a request to items. A string becomes one user message, and a reference is
 * replaced with the item that it names.
 * @throws ModelError 400 naming the item, for unsupported types of items or content and for unknown
 * ids
 */
export function readInput(input: string | readonly unknown[], find: FindItem): readonly Item[] {
  if (typeof input === 'string')
    return [readItem({ type: 'message', role: 'user', content: input }, 'input', find)];
  return input.map((item, i) => readItem(item, `input[${i}]`, find));
}

/** Converts the model's output to items, so that later requests can refer to them. */
export function readOutputItems(output: readonly object[], callIndex: number): readonly Item[] {
  return output.map((item, i) => ({
    ...readItem(item, `output[${i}]`, () => undefined),
    callIndex,
  }));
}

/**
 * Reads one item, or the item that a reference names.
 * @throws ModelError 400 naming the item, if it is not supported or its id is unknown
 */
function readItem(value: unknown, path: string, find: FindItem): Item {
  if (!isObject(value)) throw invalidRequest(path, `is ${quote(value)}`, 'an item');
  const type = value['type'] ?? impliedType(value);
  if (type === 'item_reference') return refer(value, path, find);
  const read = readers.get(type);
  if (!read)
    throw invalidRequest(
      `${path}.type`,
      `is ${quote(type)}`,
      `${[...readers.keys()].join(', ')} or item_reference`,
    );
  return { wire: { ...value, type }, message: read(value, path, find) };
}

/** Infers the type of an item that has no `type` field, because some clients omit it. */
const impliedType = (value: JsonObject): string | undefined =>
  isPresent(value['role'])
    ? 'message'
    : typeof value['id'] === 'string'
      ? 'item_reference'
      : undefined;

function refer(value: JsonObject, path: string, find: FindItem): Item {
  const id = string(value, 'id', path);
  const found = find(id);
  if (!found)
    throw invalidRequest(
      `${path}.id`,
      `refers to ${quote(id)}, which no stored response of this run has`,
      'the id of an item',
    );
  return found;
}

type Reader = (item: JsonObject, path: string, find: FindItem) => NormalMessage;

const readers: ReadonlyMap<unknown, Reader> = new Map([
  ['message', readMessage],
  ['function_call', readCall],
  ['function_call_output', readOutput],
  ['reasoning', readReasoning],
]);

const roles: ReadonlySet<unknown> = new Set(['user', 'assistant', 'system', 'developer']);

function readMessage({ role, content }: JsonObject, path: string): NormalMessage {
  if (!roles.has(role))
    throw invalidRequest(`${path}.role`, `is ${quote(role)}`, [...roles].join(', '));
  return normalize({ role, content }, path);
}

function readCall(item: JsonObject, path: string): NormalMessage {
  const [id, name, args] = ['call_id', 'name', 'arguments'].map((key) => string(item, key, path));
  return normalize(
    { role: 'assistant', tool_calls: [{ id, function: { name, arguments: args } }] },
    path,
  );
}

function readOutput(item: JsonObject, path: string): NormalMessage {
  const id = string(item, 'call_id', path);
  if (!isPresent(item['output']))
    throw invalidRequest(`${path}.output`, 'is missing', 'text, or a list of text parts');
  return normalize({ role: 'tool', tool_call_id: id, content: item['output'] }, path, 'output');
}

/**
 * Reads the text of a reasoning item. Depending on the client, the item has the text as content, as
 * a summary or as encrypted content, or has only an id.
 */
function readReasoning(item: JsonObject, path: string, find: FindItem): NormalMessage {
  const sealed = isPresent(item['encrypted_content'])
    ? string(item, 'encrypted_content', path)
    : undefined;
  const byId = typeof item['id'] === 'string' ? find(item['id']) : undefined;
  const reasoning =
    joined(item, 'content', path) ||
    joined(item, 'summary', path) ||
    openReasoning(sealed) ||
    byId?.message.reasoning_content;
  return { role: 'assistant', content: '', ...(reasoning && { reasoning_content: reasoning }) };
}

function joined(item: JsonObject, key: string, path: string): string {
  const parts = item[key] ?? [];
  if (!Array.isArray(parts))
    throw invalidRequest(`${path}.${key}`, `is ${quote(parts)}`, 'a list of parts');
  return (parts as readonly unknown[])
    .map((part, i) => {
      const at = `${path}.${key}[${i}]`;
      if (!isObject(part)) throw invalidRequest(at, `is ${quote(part)}`, 'an object with text');
      return string(part, 'text', at);
    })
    .join('\n');
}

function string(item: JsonObject, key: string, path: string): string {
  const value = item[key];
  if (typeof value === 'string') return value;
  throw invalidRequest(
    `${path}.${key}`,
    isPresent(value) ? `is ${quote(value)}` : 'is missing',
    'a string',
  );
}

/**
 * Normalizes a message by the rules for chat completions. Error messages contain paths of the
 * Responses API.
 */
function normalize(message: JsonObject, path: string, contentField = 'content'): NormalMessage {
  try {
    return normalizeMessages([message])[0]!;
  } catch (error) {
    if (!(error instanceof ModelError)) throw error;
    const rename = (text: string): string =>
      text.replace('messages[0].content', `${path}.${contentField}`).replace('messages[0]', path);
    const param = rename(String(error.details['param']));
    throw new ModelError(rename(error.message), {
      status: error.status,
      code: error.code,
      cause: error.cause,
      details: { param },
    });
  }
}

/**
 * Rejects items that OpenAI's servers also reject: an output without an earlier call, and a call
 * that is repeated within one turn. Repetitions occur if a client refers to the previous response
 * and also sends its items again. Ids may be reused in later turns.
 * @throws ModelError 400 naming the item
 */
export function checkCalls(before: readonly Item[], input: readonly Item[]): void {
  const known = new Set<string>();
  let turn = new Set<string>();
  const check = ({ message }: Item, path: string): void => {
    const { role, tool_call_id: answered = '', tool_calls: calls = [] } = message;
    if (role !== 'assistant') turn = new Set();
    for (const { id } of calls) {
      if (turn.has(id))
        throw invalidRequest(
          `${path}.call_id`,
          `is ${quote(id)} again`,
          'a different id for every call of a turn',
        );
      turn.add(id);
      known.add(id);
    }
    if (role !== 'tool' || known.has(answered)) return;
    throw invalidRequest(
      `${path}.call_id`,
      `is ${quote(answered)}, and no function_call before it has it`,
      'the call_id of an earlier call',
    );
  };
  before.forEach((item) => check(item, 'previous_response_id'));
  input.forEach((item, i) => check(item, `input[${i}]`));
}
