import { OpenAIChatFormatter } from '@agentscope-ai/agentscope/formatter';
import { createMsg, type ContentBlock, type Msg } from '@agentscope-ai/agentscope/message';
import { ModelError } from '@trinity-rft/core';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { turnFormatter } from '../src/index.js';
import { splitTurns } from '../src/split-turns.js';

/** Blocks by their first letters: t(ext), c(all), r(esult). */
const blocks = (letters: string): ContentBlock[] =>
  Array.from(letters, (letter, i): ContentBlock => {
    const id = `${i}`;
    if (letter === 't') return { type: 'text', id, text: `text ${i}` };
    if (letter === 'c') return { type: 'tool_call', id, name: 'add', input: '{"a":1}' };
    return {
      type: 'tool_result',
      id,
      name: 'add',
      output: [{ type: 'text', id, text: 'one' }],
      state: 'success',
    };
  });
const message = (letters: string, role: Msg['role'] = 'assistant'): Msg =>
  createMsg({ name: role, role, content: blocks(letters) });

describe('splitTurns', () => {
  it.each([
    ['t', ['t']],
    ['', ['']],
    ['tcr', ['tcr']],
    ['tcrt', ['tcr', 't']],
    ['tcrtccrrt', ['tcr', 'tccrr', 't']],
    ['crcrcr', ['cr', 'cr', 'cr']],
  ])('ends turns of %s after results', (whole, turns) => {
    expect(
      splitTurns(message(whole)).map(({ content }) =>
        content.map(({ type }) => shortOf(type)).join(''),
      ),
    ).toEqual(turns);
  });

  it('keeps all blocks in their order, and extends the turns when a reply grows', () => {
    const anyBlocks = fc.string({ unit: fc.constantFrom('t', 'c', 'r'), maxLength: 12 });
    fc.assert(
      fc.property(anyBlocks, anyBlocks, (before, after) => {
        const grown = message(before + after);
        const [early, late] = [
          splitTurns({ ...grown, content: grown.content.slice(0, before.length) }),
          splitTurns(grown),
        ];
        expect(late.flatMap(({ content }) => content)).toEqual(grown.content);
        expect(late.slice(0, early.length - 1)).toEqual(early.slice(0, -1));
      }),
    );
  });
});

const shortOf = (type: string): string =>
  ({ text: 't', tool_call: 'c', tool_result: 'r' })[type] ?? '?';

describe('turnFormatter', () => {
  const conversation = (): Msg[] => [
    message('t', 'system'),
    message('t', 'user'),
    message('tcrcrt'),
  ];

  it('sends each turn as a message, its results after it', async () => {
    const sent = await turnFormatter().format({ msgs: conversation() });
    expect(sent.map(({ role }) => role)).toEqual([
      'system',
      'user',
      'assistant',
      'tool',
      'assistant',
      'tool',
      'assistant',
    ]);
    expect(sent[2]).toEqual({
      role: 'assistant',
      name: 'assistant',
      content: [{ type: 'text', text: 'text 0' }],
      tool_calls: [{ id: '1', type: 'function', function: { name: 'add', arguments: '{"a":1}' } }],
    });
    expect(sent[3]).toEqual({ role: 'tool', tool_call_id: '2', name: 'add', content: 'one' });
    expect(sent[4]).toMatchObject({ content: null });
  });

  it('prints turns with the formatter it is given, and as that one by itself', async () => {
    const msgs = conversation();
    expect(await turnFormatter(new OpenAIChatFormatter()).format({ msgs })).toEqual(
      await turnFormatter().format({ msgs }),
    );
  });

  it('leaves out an empty system prompt', async () => {
    const empty = createMsg({
      name: 'system',
      role: 'system',
      content: [{ type: 'text', id: '0', text: '' }],
    });
    expect(await turnFormatter().format({ msgs: [empty, message('t', 'user')] })).toHaveLength(1);
  });

  it('rejects images of users and of tools', async () => {
    const image = {
      type: 'data' as const,
      id: '0',
      source: { type: 'url', url: 'https://example.com/a.png', mediaType: 'image/png' },
    };
    const seen = { name: 'user', role: 'user' as const, content: [image] };
    const drawn = {
      name: 'a',
      role: 'assistant' as const,
      content: [{ type: 'tool_result' as const, id: '1', name: 'draw', output: [image] }],
    };
    for (const msg of [seen, drawn])
      await expect(turnFormatter().format({ msgs: [msg] })).rejects.toThrow(ModelError);
  });

  it('gives the text of what a tool returned, as the interface of AgentScope wants it', () => {
    const formatter = turnFormatter();
    expect(formatter.convertToolOutputToString('one')).toEqual({ text: 'one', promotedMsg: null });
    const parts = ['one', 'two'].map((text) => ({ type: 'text', text }));
    expect(formatter.convertToolOutputToString(parts).text).toBe('one\ntwo');
  });
});
