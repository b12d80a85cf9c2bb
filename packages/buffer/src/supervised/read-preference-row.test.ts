import { TaskError, defaultFormatArgs } from '@trinity-rft/core';
import { describe, expect, it } from 'vitest';
import { checkRows } from './check-rows.js';
import { readPreferenceRow, type PreferenceFormat } from './read-preference-row.js';

const user = (content: string) => ({ role: 'user', content }) as const;
const assistant = (content: string) => ({ role: 'assistant', content }) as const;
const read = (rawTask: Record<string, unknown>, format: Partial<PreferenceFormat> = {}) =>
  readPreferenceRow(
    rawTask,
    { ...defaultFormatArgs, chosenKey: 'chosen', rejectedKey: 'rejected', ...format },
    'dpo/7',
  );
const pair = { prompt: [user('2 + 2?')], chosen: [assistant('4')], rejected: [assistant('5')] };

describe('readPreferenceRow', () => {
  it.each([
    ['three texts', { prompt: '2 + 2?', chosen: '4', rejected: '5' }, {}],
    [
      'three texts where only texts are taken',
      { prompt: '2 + 2?', chosen: '4', rejected: '5' },
      { promptType: 'plaintext' },
    ],
    ['lists', { messages: pair.prompt, chosen: pair.chosen, rejected: pair.rejected }, {}],
    [
      'lists in the layout of Trinity-RFT',
      { message: pair.prompt, chosen: pair.chosen, rejected: pair.rejected },
      { promptType: 'messages' },
    ],
    [
      'a prompt as list, single messages as answers',
      { prompt: pair.prompt, chosen: pair.chosen[0], rejected: pair.rejected[0] },
      {},
    ],
    [
      'JSON text',
      {
        messages: JSON.stringify(pair.prompt),
        chosen: JSON.stringify(pair.chosen),
        rejected: JSON.stringify(pair.rejected[0]),
      },
      {},
    ],
    [
      'whole conversations',
      {
        prompt: '2 + 2?',
        chosen: [...pair.prompt, ...pair.chosen],
        rejected: [...pair.prompt, ...pair.rejected],
      },
      {},
    ],
    [
      'other keys',
      { q: '2 + 2?', good: '4', bad: '5' },
      { promptKey: 'q', chosenKey: 'good', rejectedKey: 'bad' },
    ],
  ] as const)('reads %s', (_what, rawTask, format) => {
    expect(read(rawTask, format)).toEqual(pair);
  });

  it('takes a text that begins like JSON as the answer it is', () => {
    expect(read({ prompt: 'p', chosen: '[1, 2]', rejected: '{"a": 1}' })).toMatchObject({
      chosen: [assistant('[1, 2]')],
      rejected: [assistant('{"a": 1}')],
    });
  });

  it('puts a system prompt before a prompt that is a text', () => {
    const { prompt } = read(
      { prompt: 'p', chosen: 'a', rejected: 'b', sys: 'own' },
      { systemPrompt: 'all', systemPromptKey: 'sys' },
    );
    expect(prompt).toEqual([{ role: 'system', content: 'own' }, user('p')]);
  });

  it('keeps what two whole conversations share as the prompt, and several turns after it', () => {
    const begin = [user('a'), assistant('b'), user('c')];
    const chosen = [assistant('d'), user('e'), assistant('f')];
    expect(read({ chosen: [...begin, ...chosen], rejected: [...begin, assistant('x')] })).toEqual({
      prompt: begin,
      chosen,
      rejected: [assistant('x')],
    });
  });

  it('takes numbers as their digits', () => {
    expect(read({ prompt: 'p', chosen: 6693, rejected: -0.5 })).toMatchObject({
      chosen: [assistant('6693')],
      rejected: [assistant('-0.5')],
    });
  });

  it.each([
    [
      { prompt: 'p', chosen: 'a' },
      'Row dpo/7, key "rejected": nothing is there; the row has prompt, chosen. Set format.chosen_key',
    ],
    [
      { chosen: 'a', rejected: 'b' },
      'key "prompt": nothing is there; the row has chosen, rejected. Set format.messages_key or format.prompt_key',
    ],
    [{ prompt: 'p', chosen: '', rejected: 'b' }, 'key "chosen": the answer is empty'],
    [{ prompt: 'p', chosen: true, rejected: 'b' }, 'key "chosen": found a boolean'],
    [
      { prompt: 'p', chosen: [user('a')], rejected: 'b' },
      'key "chosen": the last message is the user\'s. An answer ends with the assistant',
    ],
    [
      { prompt: [user('p'), assistant('q')], chosen: 'a', rejected: 'b' },
      'key "prompt": the last message is the assistant\'s',
    ],
    [
      { prompt: 'p', chosen: [user('p'), assistant('a')], rejected: 'b' },
      '"rejected": it is an answer alone, while "chosen" is a whole conversation',
    ],
    [
      { chosen: [user('p'), assistant('a')], rejected: [user('q'), assistant('b')] },
      'key "rejected": it differs from "chosen" at message 1, which is the user\'s. Two whole conversations have the same prompt',
    ],
    [
      { prompt: 'p', chosen: [{ role: 'judge', content: 'a' }], rejected: 'b' },
      'key "chosen": message 1 has the role "judge"',
    ],
  ])('rejects %j', (rawTask, message) => {
    expect(() => read(rawTask)).toThrow(TaskError);
    expect(() => read(rawTask)).toThrow(message);
  });

  it('rejects messages where only texts are taken', () => {
    expect(() =>
      read({ prompt: 'p', chosen: pair.chosen, rejected: 'b' }, { promptType: 'plaintext' }),
    ).toThrow('expected text, found a list');
    expect(() =>
      read({ prompt: pair.prompt, chosen: 'a', rejected: 'b' }, { promptType: 'plaintext' }),
    ).toThrow('expected text, found a list. Remove format.prompt_type to read messages');
  });
});

it('counts the rows of a data set that cannot be read, and says why of the first three', () => {
  const rows = [
    { prompt: 'p', chosen: 'a', rejected: 'b' },
    ...Array.from({ length: 5 }, () => ({ prompt: 'p' })),
  ];
  const check = () => checkRows(rows, '"pairs" (pairs.jsonl)', (rawTask) => read(rawTask));
  expect(check).toThrow(
    /^"pairs" \(pairs.jsonl\): 5 of 6 rows cannot be learned from\. Rows count from 0\.\n(  Row .*\n){3}  \.\.\. and 2 more$/,
  );
  checkRows(rows.slice(0, 1), 'pairs', (rawTask) => read(rawTask));
  expect(() => checkRows(rows, 'x', () => (undefined as unknown as { a: number }).a)).toThrow(
    TypeError,
  );
});
