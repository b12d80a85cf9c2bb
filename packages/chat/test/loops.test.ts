import { describe, expect, it } from 'vitest';
import {
  buildCharTokenizer,
  createChatFormat,
  createLedger,
  createTokenizer,
  normalizeMessages,
  type ChatFormat,
  type NormalMessage,
} from '../src/index.js';
import { fixture } from './rendering.js';

interface Model {
  readonly template: string;
  readonly parser: string;
  readonly reasoning?: string;
  readonly stop: string;
  readonly special: readonly string[];
  /** A turn that calls `add`, as the model writes it. */
  readonly call: (args: string) => string;
}

const chatml = ['<|im_start|>', '<|im_end|>'];

const hermesCall = (args: string): string =>
  `<tool_call>\n{"name": "add", "arguments": ${args}}\n</tool_call>`;

const parameters = (args: string): string =>
  Object.entries(JSON.parse(args) as object)
    .map(([key, value]) => `<parameter=${key}>\n${value}\n</parameter>\n`)
    .join('');

const models: Readonly<Record<string, Model>> = {
  'Qwen 2.5': {
    template: 'qwen2.5',
    parser: 'hermes',
    stop: '<|im_end|>',
    special: chatml,
    call: hermesCall,
  },
  'Qwen 3': {
    template: 'qwen3',
    parser: 'hermes',
    reasoning: 'qwen3',
    stop: '<|im_end|>',
    special: chatml,
    call: hermesCall,
  },
  'Qwen3-Coder': {
    template: 'qwen3-coder',
    parser: 'qwen3_coder',
    stop: '<|im_end|>',
    special: chatml,
    call: (args) => `<tool_call>\n<function=add>\n${parameters(args)}</function>\n</tool_call>`,
  },
  'Mistral Nemo': {
    template: 'mistral-nemo',
    parser: 'mistral',
    stop: '</s>',
    special: ['</s>', '<s>', '[INST]', '[/INST]', '[TOOL_CALLS]'],
    call: (args) => `[TOOL_CALLS][{"name": "add", "arguments": ${args}}]`,
  },
};

const number = { type: 'number' };
const tools = [
  {
    type: 'function',
    function: {
      name: 'add',
      description: 'Adds.',
      parameters: { type: 'object', properties: { a: number, b: number }, required: ['a', 'b'] },
    },
  },
] as const;

function formatOf({ template, parser, reasoning, stop, special }: Model): ChatFormat {
  const characters = `${Array.from({ length: 95 }, (_, i) => String.fromCharCode(32 + i)).join('')}\n`;
  const files = buildCharTokenizer({
    characters,
    eosToken: stop,
    specialTokens: special.filter((token) => token !== stop),
    markers: ['<think>', '</think>', '<tool_call>', '</tool_call>'],
    chatTemplate: fixture(`${template}.jinja`),
  });
  const tokenizer = createTokenizer(files);
  return createChatFormat({ tokenizer, toolCallParser: parser, reasoningParser: reasoning });
}

interface Loop {
  readonly enableThinking?: boolean;
  /** Before each answer of the model. */
  readonly thought: string;
}

/** Three turns of a tool loop; the answers of the model as outcomes of the next prompts. */
function playLoop(model: Model, { enableThinking, thought }: Loop) {
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
  return { format, ledger, messages, outcomes };
}

describe.each(Object.entries(models))('the template of %s', (name, model) => {
  it.each<[string, Loop]>([
    ['as it is', { thought: '' }],
    ['without thinking', { thought: '', enableThinking: false }],
    ...(name === 'Qwen 3'
      ? ([['with reasoning', { thought: '<think>\nhm\n</think>\n\n' }]] as [string, Loop][])
      : []),
  ])('continues the recorded ids in every turn of a tool loop, %s', (_, loop) => {
    expect(playLoop(model, loop).outcomes).toEqual(['new', 'spliced', 'spliced']);
  });
});

it('continues after the next question, unless the template drops reasoning', () => {
  const next = (loop: Loop): string => {
    const { ledger, messages } = playLoop(models['Qwen 3']!, loop);
    const { enableThinking } = loop;
    return ledger.prompt({
      messages: [...messages, { role: 'user', content: 'And 4?' }],
      tools,
      enableThinking,
    }).outcome;
  };
  expect(next({ thought: '', enableThinking: false })).toBe('spliced');
  expect(next({ thought: '<think>\nhm\n</think>\n\n' })).toBe('template_changed');
});

it('continues conversations without tools on the template of SmolLM3', () => {
  const model = { ...models['Qwen 3']!, template: 'smollm3' };
  for (const enableThinking of [true, false]) {
    const format = formatOf(model);
    const ledger = createLedger(format);
    const first = ledger.prompt({ messages: [{ role: 'user', content: 'a' }], enableThinking });
    const completion = format.tokenizer.encode('b<|im_end|>');
    const message = { role: 'assistant', content: 'b' } as const;
    ledger.record(first, { message, completion, truncated: false });
    const messages = [
      { role: 'user', content: 'a' },
      message,
      { role: 'user', content: 'c' },
    ] as const;
    expect(ledger.prompt({ messages, enableThinking }).outcome).toBe('spliced');
  }
});
