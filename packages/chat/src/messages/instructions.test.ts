import { describe, expect, it } from 'vitest';
import { withInstructions } from './instructions.js';

const messages = [{ role: 'user', content: 'hi' }];

describe('withInstructions', () => {
  it.each([
    ['puts a system message in front', messages, [{ role: 'system', content: 'x' }, ...messages]],
    [
      'appends to text',
      [{ role: 'system', content: 'a', name: 'n' }],
      [{ role: 'system', content: 'a\n\nx', name: 'n' }],
    ],
    [
      'fills what is empty',
      [{ role: 'developer', content: null }],
      [{ role: 'developer', content: 'x' }],
    ],
    [
      'appends a part to parts',
      [{ role: 'system', content: [{ type: 'text', text: 'a' }] }],
      [
        {
          role: 'system',
          content: [
            { type: 'text', text: 'a' },
            { type: 'text', text: '\nx' },
          ],
        },
      ],
    ],
    [
      'leaves it to others to refuse what is no message',
      [7],
      [{ role: 'system', content: 'x' }, 7],
    ],
  ])('%s', (_, given, expected) => {
    expect(withInstructions(given, ['x', undefined], 'system')).toEqual(expected);
  });

  it('does nothing without a text', () => {
    expect(withInstructions(messages, [undefined], 'user')).toBe(messages);
  });

  it.each([
    ['text', 'hi', 'x\n\nhi'],
    ['nothing', '', 'x'],
    [
      'parts',
      [{ type: 'text', text: 'hi' }],
      [
        { type: 'text', text: 'x\n' },
        { type: 'text', text: 'hi' },
      ],
    ],
  ])('goes before %s of the first user message with the role user', (_, content, expected) => {
    const answer = { role: 'assistant', content: 'yes?' };
    const given = [answer, { role: 'user', content }, ...messages];
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
