import { TaskError, defaultFormatArgs } from '@trinity-rft/core';
import { parseJsonExactly } from '@trinity-rft/core/support';
import { expect, it } from 'vitest';
import { readSupervisedRow, type SupervisedFormat } from './read-supervised-row.js';

const conversation = [
  { role: 'user', content: 'What is 1 + 1?' },
  { role: 'assistant', content: '2' },
];
const read = (rawTask: Record<string, unknown>, format: Partial<SupervisedFormat> = {}) =>
  readSupervisedRow(rawTask, { ...defaultFormatArgs, ...format }, 'sft/7');

it.each([
  ['a list under message', { message: conversation }, {}],
  ['a list under messages, when message is not there', { messages: conversation }, {}],
  [
    'a list under the key that the format names',
    { chat: conversation, messages: [] },
    { messagesKey: 'chat' },
  ],
  ['JSON text', { messages: JSON.stringify(conversation) }, {}],
  ['two texts', { prompt: 'What is 1 + 1?', response: '2' }, {}],
  [
    'two texts under other keys',
    { question: 'What is 1 + 1?', answer: '2', messages: conversation.slice(1) },
    { promptType: 'plaintext', promptKey: 'question', responseKey: 'answer' },
  ],
  [
    'a number as the answer',
    { prompt: 'What is 1 + 1?', response: 2 },
    { promptType: 'plaintext' },
  ],
  [
    'fields that are null in a table',
    { messages: conversation.map((message) => ({ ...message, tool_calls: null, name: null })) },
    {},
  ],
] as const)('reads a conversation from %s', (_what, rawTask, format) => {
  expect(read(rawTask, format)).toEqual({ messages: conversation });
});

it('puts the system prompt first: that of the row before that of the format', () => {
  const row = { prompt: 'p', response: 'r', system: 'of the row' };
  const systemOf = (format: Partial<SupervisedFormat>) =>
    read(row, format).messages.filter((message) => message.role === 'system');
  expect(systemOf({ systemPrompt: 'of all' })).toEqual([{ role: 'system', content: 'of all' }]);
  expect(systemOf({ systemPrompt: 'of all', systemPromptKey: 'system' })).toEqual([
    { role: 'system', content: 'of the row' },
  ]);
  expect(systemOf({ systemPrompt: 'of all', systemPromptKey: 'absent' })).toEqual([
    { role: 'system', content: 'of all' },
  ]);
});

it('reads the reasoning and the weight under their other names', () => {
  const answers = [
    { thinking: 'Easy.', train: false },
    { reasoning: 'Easy.', train: true, train_detail: [] },
    { reasoning_content: '', thinking: 'Easy.', train: 0 },
    { reasoning_details: [{ type: 'reasoning.text', text: 'Easy.' }] },
  ].map((more) => ({ role: 'assistant', content: '2', ...more }));
  const { messages } = read({ messages: [{ ...conversation[0], train: false }, ...answers] });
  const reasoning_content = 'Easy.';
  expect(messages.slice(1)).toMatchObject([
    { reasoning_content, weight: 0 },
    { reasoning_content, weight: 1 },
    { reasoning_content, weight: 0 },
    { reasoning_content },
  ]);
  expect(messages[0]).not.toHaveProperty('weight');
});

it.each([
  [{ train_detail: [{ train: false }] }, 'An answer is trained as a whole or not.'],
  [{ content: [{ type: 'text', text: '2', train: false }] }, 'message 2 has train_detail, or'],
  [{ train: 'false' }, `message 2, the assistant's, has the weight "false"`],
])('refuses an answer with %j', (more, problem) => {
  const answer = { role: 'assistant', content: '2', ...more };
  expect(() => read({ messages: [conversation[0], answer] })).toThrow(problem);
});

it('leaves out what a table adds to calls and tools, and keeps all digits', () => {
  const parameters = (more: object) => ({
    type: 'object',
    properties: { id: { type: 'integer', maximum: 'BIG', ...more }, ...more },
  });
  const tool = (more: object) => ({
    ...{ type: 'function', function: { name: 'find', parameters: parameters(more), ...more } },
  });
  const call = (args: unknown) => ({
    ...{ role: 'assistant', tool_calls: [{ function: { name: 'find', arguments: args } }] },
  });
  const big = (value: object) => JSON.stringify(value).replaceAll('"BIG"', '1234567890123456789');
  const row = {
    messages: [conversation[0], call({ id: 'BIG', a: null })],
    tools: [tool({ a: null })],
  };
  const { messages, tools } = read(parseJsonExactly(big(row)) as Record<string, unknown>);
  expect(messages[1]?.tool_calls?.[0]?.function.arguments).toBe(big({ id: 'BIG' }));
  expect(tools?.[0]?.function).not.toHaveProperty('a');
  expect(tools?.[0]?.parametersSource).toBe(big(parameters({})));
});

it('reads tools and tool calls, with arguments as objects or as text', () => {
  const tool = { type: 'function', function: { name: 'add', parameters: { type: 'object' } } };
  const call = (args: unknown) => ({
    role: 'assistant',
    content: null,
    tool_calls: [{ function: { name: 'add', arguments: args } }],
  });
  const result = { role: 'tool', content: '2', tool_call_id: 'call_0' };
  const { messages, tools } = read({
    messages: [...conversation, call({ a: 1 }), result, call('{"a": 1}'), result, conversation[1]],
    tools: JSON.stringify([tool]),
  });
  expect(tools).toEqual([tool]);
  expect(messages.flatMap((message) => message.tool_calls ?? [])).toEqual([
    { id: 'call_0', type: 'function', function: { name: 'add', arguments: '{"a":1}' } },
    { id: 'call_0', type: 'function', function: { name: 'add', arguments: '{"a": 1}' } },
  ]);
  expect(messages[2]).not.toHaveProperty('content');
  for (const none of [[], '', null, '[]'])
    expect(read({ messages: conversation, tools: none })).toEqual({ messages: conversation });
});

it.each<[string, Record<string, unknown>, Partial<SupervisedFormat>, string]>([
  [
    'no conversation',
    { question: 'q', answer: 'a' },
    {},
    'Row sft/7, key "message": nothing is there; the row has question, answer. Set format.messages_key',
  ],
  [
    'texts where messages are asked for',
    { prompt: 'p', response: 'r' },
    { promptType: 'messages' },
    'Set format.prompt_type to plaintext',
  ],
  [
    'messages that are no list',
    { message: 7 },
    {},
    'key "message": expected a list, found a number',
  ],
  ['text that is not JSON', { messages: '[{' }, {}, 'key "messages": the text is not JSON'],
  ['no messages', { messages: [] }, {}, 'the list is empty'],
  [
    'an unknown role',
    { messages: [{ role: 'human', content: 'q' }] },
    {},
    'message 1 has the role "human". Expected one of: system, developer, user, assistant, tool',
  ],
  [
    'a message without content',
    { messages: [{ role: 'user' }] },
    {},
    'message 1 has neither content nor tool calls',
  ],
  [
    'content that is no text',
    { messages: [{ role: 'user', content: 3 }] },
    {},
    'message 1 has a number as content',
  ],
  ['a message that is none', { messages: ['hello'] }, {}, 'message 1 is a string'],
  [
    'no answer at the end',
    { messages: conversation.slice(0, 1) },
    {},
    "the last message is the user's",
  ],
  [
    'a tool call without a name',
    { messages: [{ role: 'assistant', tool_calls: [{}] }] },
    {},
    'message 1: tool call 1 has no function.name',
  ],
  [
    'tools that are no list',
    { messages: conversation, tools: { name: 'add' } },
    {},
    'key "tools": expected a list, found an object',
  ],
  [
    'a tool without a name',
    { messages: conversation, tools: [{ type: 'function' }] },
    {},
    'key "tools": tool 1 has no function.name',
  ],
  [
    'an answer that is no number',
    { prompt: 'p', response: Number.NaN },
    { promptType: 'plaintext' },
    'key "response": expected text, found NaN',
  ],
  [
    'a prompt that is no text',
    { prompt: true, response: 'r' },
    { promptType: 'plaintext' },
    'key "prompt": expected text, found a boolean',
  ],
])('rejects %s', (_what, rawTask, format, message) => {
  expect(() => read(rawTask, format)).toThrow(TaskError);
  expect(() => read(rawTask, format)).toThrow(message);
});

it("keeps the weights of OpenAI's rows, and refuses others by name", () => {
  const weighted = (weight: unknown, role = 'assistant') => ({
    messages: [{ role, content: 'first', weight }, ...conversation],
  });
  expect(read(weighted(0)).messages[0]).toMatchObject({ weight: 0 });
  expect(read(weighted(null)).messages[0]).not.toHaveProperty('weight');
  expect(() => read(weighted(0.5))).toThrow(
    /sft\/7.*message 1, the assistant's, has the weight 0.5. Expected 0 or 1/,
  );
  expect(() => read(weighted(0, 'user'))).toThrow(/the user's, has the weight 0/);
  expect(() => read({ messages: [conversation[0], { ...conversation[1], weight: 0 }] })).toThrow(
    'every answer has weight 0',
  );
});
