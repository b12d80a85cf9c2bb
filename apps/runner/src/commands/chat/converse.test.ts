import { Readable } from 'node:stream';
import type { ChatMessages } from '@trinity-rft/local';
import stringWidth from 'string-width';
import { describe, expect, it } from 'vitest';
import { converse, sideBySide, type Talk, type Talker } from './converse.js';

/** Scripted talker that answers with the number of messages it got, and calls a tool first if asked to "add". */
function adder(label: string, seen: ChatMessages[]): Talker {
  return {
    label,
    model: {
      async *stream(messages) {
        seen.push(messages);
        const last = messages.at(-1);
        if (last?.role === 'user' && last.content === 'add') {
          const call = { name: 'add', arguments: '{"a":1}' };
          yield { type: 'tool-call', toolCall: { id: 'c1', type: 'function', function: call } };
        } else {
          yield { type: 'reasoning', text: 'so' };
          yield { type: 'text', text: `${label} has ${messages.length}` };
        }
      },
    },
  };
}

async function talk(
  talkers: readonly Talker[],
  lines: readonly string[],
  more: Partial<Talk> = {},
): Promise<string> {
  let written = '';
  await converse(talkers, {
    input: Readable.from([lines.join('\n')]),
    request: {},
    system: undefined,
    write: (text) => void (written += text),
    columns: undefined,
    ...more,
  });
  return written;
}

describe('a conversation', () => {
  it('keeps the history of each talker, forgets it at /reset, and ends at /exit', async () => {
    const seen: ChatMessages[] = [];
    const lines = ['one', '', 'two', '/reset', 'three', '/exit', 'four'];
    expect(await talk([adder('it', seen)], lines, { system: 'Be short.' })).toBe(
      '(thinks) so\nit has 2\n(thinks) so\nit has 4\n(thinks) so\nit has 2\n',
    );
    expect(seen[1]).toEqual([
      { role: 'system', content: 'Be short.' },
      { role: 'user', content: 'one' },
      { role: 'assistant', content: 'it has 2' },
      { role: 'user', content: 'two' },
    ]);
  });

  it('asks for the result of each tool call, of each talker in its turn', async () => {
    const [first, second]: [ChatMessages[], ChatMessages[]] = [[], []];
    const talkers = [adder('trained', first), adder('base', second)];
    expect(await talk(talkers, ['add', '3', '5', 'on'])).toMatch(
      /^\[trained\] -> add\(\{"a":1\}\)\n\[base\] -> add/,
    );
    expect(first[1]?.at(-1)).toEqual({ role: 'tool', tool_call_id: 'c1', content: '3' });
    expect(second[1]?.at(-1)).toEqual({ role: 'tool', tool_call_id: 'c1', content: '5' });
    expect(second[2]).toHaveLength(5);
  });

  it('forgets a question whose tool call got no result', async () => {
    const seen: ChatMessages[] = [];
    expect(await talk([adder('it', seen)], ['add'])).toContain('the input ended before');
    expect(seen).toHaveLength(1);
  });

  it('goes on after an answer that failed, without its question', async () => {
    const seen: ChatMessages[] = [];
    const good = adder('it', seen);
    let isFirst = true;
    const model: Talker['model'] = {
      async *stream(messages, request) {
        if (isFirst) {
          isFirst = false;
          throw new Error('too long');
        }
        yield* good.model.stream(messages, request);
      },
    };
    expect(await talk([{ label: 'it', model }], ['one', 'two'])).toContain('too long\n');
    expect(seen[0]).toEqual([{ role: 'user', content: 'two' }]);
  });

  it('has two answers side by side on a terminal', async () => {
    const talkers = [adder('left', []), adder('right', [])];
    const written = await talk(talkers, ['one'], { columns: 60 });
    expect(written).toMatch(
      /\[left\] {24}\[right\]\n\(thinks\) so {19}\(thinks\) so\nleft has 1 {20}right has 1\n$/,
    );
  });
});

describe('answers side by side', () => {
  it('are wrapped into columns of half the width, each under its title', () => {
    const text = sideBySide(
      [
        { title: 'trained', text: 'The sum is 4.\n-> add({"a":2})' },
        { title: 'base', text: 'I think that two and two are five, most of the time.' },
      ],
      50,
    );
    expect(text).toBe(`[trained]                [base]
The sum is 4.            I think that two and
-> add({"a":2})          two are five, most of
                         the time.
`);
  });

  it('count wide characters twice, and break words that do not fit', () => {
    const [left, right] = ['漢字'.repeat(20), 'x'.repeat(90)];
    const rows = sideBySide(
      [
        { title: 'a', text: left },
        { title: 'b', text: right },
      ],
      40,
    ).split('\n');
    expect(rows.every((row) => stringWidth(row) <= 40)).toBe(true);
    expect(
      rows
        .slice(1)
        .map((row) => row.replaceAll(/[x ]/g, ''))
        .join(''),
    ).toBe(left);
    expect(rows.join('').replaceAll(/[^x]/g, '')).toBe(right);
  });
});
