/** Items of the Responses API, and the chat messages they stand for. */
import { normalizeMessages, type NormalMessage } from '@trinity-rft/chat';
import { ModelError } from '@trinity-rft/core';
import { given, isRecord, type Body } from '../shared/request/fields.js';
import { quote, refusal } from '../shared/request/invalid-request.js';
import { openReasoning } from './sealed-reasoning.js';

/** An item that is no reference any more. */
export interface Item {
  /** As it goes over the wire. */
  readonly wire: Body;
  readonly message: NormalMessage;
  /** Of the recorded call that wrote it. */
  readonly callIndex?: number;
}

/** Finds an item that this rollout remembers. */
export type FindItem = (id: string) => Item | undefined;

/**
 * A string is one user message. References are replaced by what they refer to, so nothing that is
 * kept refers to anything.
 * @throws ModelError 400 naming the item, for kinds of items and content that are not available and
 * for ids nobody knows
 */
export function readInput(input: string | readonly unknown[], find: FindItem): readonly Item[] {
  if (typeof input === 'string')
    return [readItem({ type: 'message', role: 'user', content: input }, 'input', find)];
  return input.map((item, i) => readItem(item, `input[${i}]`, find));
}

/** What the model wrote, for later requests to refer to. */
export function readOutputItems(output: readonly object[], callIndex: number): readonly Item[] {
  return output.map((item, i) => ({
    ...readItem(item, `output[${i}]`, () => undefined),
    callIndex,
  }));
}

/** @throws ModelError 400 */
function readItem(value: unknown, path: string, find: FindItem): Item {
  if (!isRecord(value)) throw refusal(path, `is ${quote(value)}`, 'an item');
  const type = value['type'] ?? impliedType(value);
  if (type === 'item_reference') return refer(value, path, find);
  const read = readers.get(type);
  if (!read)
    throw refusal(
      `${path}.type`,
      `is ${quote(type)}`,
      `${[...readers.keys()].join(', ')} or item_reference`,
    );
  return { wire: { ...value, type }, message: read(value, path, find) };
}

/** What clients mean that leave the type out. */
const impliedType = (value: Body): string | undefined =>
  given(value['role']) ? 'message' : typeof value['id'] === 'string' ? 'item_reference' : undefined;

function refer(value: Body, path: string, find: FindItem): Item {
  const id = string(value, 'id', path);
  const found = find(id);
  if (!found)
    throw refusal(
      `${path}.id`,
      `refers to ${quote(id)}, which no stored response of this run has`,
      'the id of an item',
    );
  return found;
}

type Reader = (item: Body, path: string, find: FindItem) => NormalMessage;

const readers: ReadonlyMap<unknown, Reader> = new Map([
  ['message', readMessage],
  ['function_call', readCall],
  ['function_call_output', readOutput],
  ['reasoning', readReasoning],
]);

const roles: ReadonlySet<unknown> = new Set(['user', 'assistant', 'system', 'developer']);

function readMessage({ role, content }: Body, path: string): NormalMessage {
  if (!roles.has(role)) throw refusal(`${path}.role`, `is ${quote(role)}`, [...roles].join(', '));
  return normalize({ role, content }, path);
}

function readCall(item: Body, path: string): NormalMessage {
  const [id, name, args] = ['call_id', 'name', 'arguments'].map((key) => string(item, key, path));
  return normalize(
    { role: 'assistant', tool_calls: [{ id, function: { name, arguments: args } }] },
    path,
  );
}

function readOutput(item: Body, path: string): NormalMessage {
  const id = string(item, 'call_id', path);
  if (!given(item['output']))
    throw refusal(`${path}.output`, 'is missing', 'text, or a list of text parts');
  return normalize({ role: 'tool', tool_call_id: id, content: item['output'] }, path, 'output');
}

/**
 * Clients keep the whole of it, its summary, the sealed form or only the id; all of them are the
 * same text here.
 */
function readReasoning(item: Body, path: string, find: FindItem): NormalMessage {
  const sealed = given(item['encrypted_content'])
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

function joined(item: Body, key: string, path: string): string {
  const parts = item[key] ?? [];
  if (!Array.isArray(parts))
    throw refusal(`${path}.${key}`, `is ${quote(parts)}`, 'a list of parts');
  return (parts as readonly unknown[])
    .map((part, i) => {
      const at = `${path}.${key}[${i}]`;
      if (!isRecord(part)) throw refusal(at, `is ${quote(part)}`, 'an object with text');
      return string(part, 'text', at);
    })
    .join('\n');
}

function string(item: Body, key: string, path: string): string {
  const value = item[key];
  if (typeof value === 'string') return value;
  throw refusal(`${path}.${key}`, given(value) ? `is ${quote(value)}` : 'is missing', 'a string');
}

/** The rules for messages are those of chat completions; only the paths in errors differ. */
function normalize(message: Body, path: string, contentField = 'content'): NormalMessage {
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
 * What OpenAI's servers refuse as well: an output that answers no call before it, and a turn that
 * makes the same call twice, as when items of the previous response are sent again. Ids may be used
 * again in later turns. @throws ModelError 400 naming the item
 */
export function checkCalls(before: readonly Item[], input: readonly Item[]): void {
  const known = new Set<string>();
  let turn = new Set<string>();
  const check = ({ message }: Item, path: string): void => {
    const { role, tool_call_id: answered = '', tool_calls: calls = [] } = message;
    if (role !== 'assistant') turn = new Set();
    for (const { id } of calls) {
      if (turn.has(id))
        throw refusal(
          `${path}.call_id`,
          `is ${quote(id)} again`,
          'a different id for every call of a turn',
        );
      turn.add(id);
      known.add(id);
    }
    if (role !== 'tool' || known.has(answered)) return;
    throw refusal(
      `${path}.call_id`,
      `is ${quote(answered)}, and no function_call before it has it`,
      'the call_id of an earlier call',
    );
  };
  before.forEach((item) => check(item, 'previous_response_id'));
  input.forEach((item, i) => check(item, `input[${i}]`));
}
