/** A tool loop of three turns over the chat template of a published model. */
import { expect } from 'vitest';
import {
  buildCharTokenizer,
  createChatFormat,
  createLedger,
  createTokenizer,
  normalizeMessages,
  type ChatFormat,
  type Ledger,
  type NormalMessage,
} from '../src/index.js';

export interface Model {
  /** Jinja source. */
  readonly template: string;
  readonly parser: string;
  readonly reasoning?: string;
  readonly stop: string;
  readonly special: readonly string[];
  /** A turn that calls `add`, as the model writes it. */
  readonly call: (args: string) => string;
}

const chatmlTokens = ['<|im_start|>', '<|im_end|>'];

const hermesCall = (args: string): string =>
  `<tool_call>\n{"name": "add", "arguments": ${args}}\n</tool_call>`;

/** ChatML with calls in the syntax of Hermes. */
export const chatml = {
  parser: 'hermes',
  stop: '<|im_end|>',
  special: chatmlTokens,
  call: hermesCall,
};

const number = { type: 'number' };
export const tools = [
  {
    type: 'function',
    function: {
      name: 'add',
      description: 'Adds.',
      parameters: { type: 'object', properties: { a: number, b: number }, required: ['a', 'b'] },
    },
  },
] as const;

export function formatOf({ template, parser, reasoning, stop, special }: Model): ChatFormat {
  const characters = `${Array.from({ length: 95 }, (_, i) => String.fromCharCode(32 + i)).join('')}\n`;
  const files = buildCharTokenizer({
    characters,
    eosToken: stop,
    specialTokens: special.filter((token) => token !== stop),
    markers: ['<think>', '</think>', '<tool_call>', '</tool_call>'],
    chatTemplate: template,
  });
  const tokenizer = createTokenizer(files);
  return createChatFormat({ tokenizer, toolCallParser: parser, reasoningParser: reasoning });
}

export interface Loop {
  readonly enableThinking?: boolean;
  /** Reasoning before each answer of the model. */
  readonly thought: string;
}

export interface PlayedLoop {
  readonly ledger: Ledger;
  readonly messages: readonly NormalMessage[];
  /** Ledger outcome of each prompt. */
  readonly outcomes: readonly string[];
}

/** Plays three turns of a tool loop and returns the ledger outcome of each prompt. */
export function playLoop(model: Model, { enableThinking, thought }: Loop): PlayedLoop {
  const format = formatOf(model);
  const ledger = createLedger(format);
  const messages: NormalMessage[] = [{ role: 'user', content: 'Add 1, 2 and 3.' }];
  const outcomes: string[] = [];
  let said: readonly number[] = [];
  for (const [turn, args] of ['{"a": 1, "b": 2}', '{"a": 3, "b": 3}', undefined].entries()) {
    const prompt = ledger.prompt({ messages, tools, enableThinking });
    outcomes.push(prompt.outcome);
    expect([...prompt.ids.subarray(0, prompt.reused)]).toEqual(said);
    const text = args === undefined ? 'Six.' : model.call(args);
    const completion = format.tokenizer.encode(thought + text + model.stop);
    const read = format.readTurn(completion, { tools, promptIds: prompt.ids });
    const calls = read.toolCalls.map((call, index) => ({
      id: format.toolCallId({ call: turn, choice: 0, index }),
      type: 'function' as const,
      function: call,
    }));
    const message: NormalMessage = {
      role: 'assistant',
      content: read.text,
      ...(read.reasoning !== undefined && { reasoning_content: read.reasoning }),
      ...(calls.length > 0 && { tool_calls: calls }),
    };
    ledger.record(prompt, { message, completion, truncated: false });
    said = [...prompt.ids, ...completion];
    messages.push(...normalizeMessages([message]));
    for (const { id } of calls)
      messages.push({ role: 'tool', content: '3', tool_call_id: id, name: 'add' });
  }
  expect(messages.filter((message) => message.tool_calls)).toHaveLength(2);
  return { ledger, messages, outcomes };
}
