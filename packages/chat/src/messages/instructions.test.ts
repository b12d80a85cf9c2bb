import { describe, expect, it } from 'vitest';
import { withInstructions } from './instructions.js';

const messages = [{ role: 'user', content: 'hi' }] as const;

describe('withInstructions', () => {
  it.each([
    ['puts a system message in front', messages, [{ role: 'system', content: 'x' }, ...messages]],
    [
      'appends to text',
      [{ role: 'system', content: 'a' }],
      [{ role: 'system', content: 'a\n\nx' }],
    ],
    ['fills what is empty', [{ role: 'system', content: '' }], [{ role: 'system', content: 'x' }]],
  ] as const)('%s', (_, given, expected) => {
    expect(withInstructions(given, ['x', undefined], 'system')).toEqual(expected);
  });

  it('does nothing without a text', () => {
    expect(withInstructions(messages, [undefined], 'user')).toBe(messages);
  });

  it.each([
    ['text', 'hi', 'x\n\nhi'],
    ['nothing', '', 'x'],
  ])('goes before %s of the first user message with the role user', (_, content, expected) => {
    const answer = { role: 'assistant', content: 'yes?' } as const;
    const given = [answer, { role: 'user', content } as const, ...messages];
    expect(withInstructions(given, ['x'], 'user')).toEqual([
      answer,
      { role: 'user', content: expected },
      ...messages,
    ]);
    expect(withInstructions([answer], ['x'], 'user')).toEqual([
      { role: 'system', content: 'x' },
      answer,
    ]);
  });
});
