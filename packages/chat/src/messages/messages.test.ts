import { describe, expect, it } from 'vitest';
import { normalizeMessages } from './messages.js';

const call = { id: 'c', type: 'function', function: { name: 'f', arguments: '{ "a":1.0 }' } };

describe('normalizeMessages', () => {
  it.each([
    [
      'developer is system',
      [{ role: 'developer', content: 'x' }],
      [{ role: 'system', content: 'x' }],
    ],
    ['null content is empty', [{ role: 'user', content: null }], [{ role: 'user', content: '' }]],
    ['missing content is empty', [{ role: 'assistant' }], [{ role: 'assistant', content: '' }]],
    [
      'text parts of every kind are joined',
      [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'a' },
            { type: 'input_text', text: 'b', role: 'junk' },
            'c',
            { type: 'refusal', refusal: 'd' },
          ],
        },
      ],
      [{ role: 'user', content: 'a\nb\nc\nd' }],
    ],
    [
      'names are dropped',
      [{ role: 'user', content: 'x', name: 'me' }],
      [{ role: 'user', content: 'x' }],
    ],
    [
      'tool messages keep id and name',
      [{ role: 'tool', content: [{ type: 'text', text: '2' }], tool_call_id: 'c', name: 'f' }],
      [{ role: 'tool', content: '2', tool_call_id: 'c', name: 'f' }],
    ],
    [
      'arguments stay as they are written',
      [{ role: 'assistant', content: '', tool_calls: [call] }],
      [{ role: 'assistant', content: '', tool_calls: [call] }],
    ],
    [
      'a function_call is a tool call without an id',
      [
        { role: 'assistant', content: null, function_call: call.function },
        { role: 'function', name: 'f', content: '2' },
      ],
      [
        { role: 'assistant', content: '', tool_calls: [{ ...call, id: '' }] },
        { role: 'tool', content: '2', name: 'f' },
      ],
    ],
    [
      'tool calls beside a function_call take precedence',
      [{ role: 'assistant', content: '', tool_calls: [call], function_call: null }],
      [{ role: 'assistant', content: '', tool_calls: [call] }],
    ],
    [
      'no tool calls are none',
      [{ role: 'assistant', content: 'x', tool_calls: [] }],
      [{ role: 'assistant', content: 'x' }],
    ],
    [
      'both names of reasoning are read',
      [{ role: 'assistant', reasoning: 'r' }],
      [{ role: 'assistant', content: '', reasoning_content: 'r' }],
    ],
    [
      'an assistant turn in three messages is one',
      [
        { role: 'assistant', reasoning_content: 'r' },
        { role: 'assistant', content: 'x' },
        { role: 'assistant', tool_calls: [call] },
      ],
      [{ role: 'assistant', content: 'x', reasoning_content: 'r', tool_calls: [call] }],
    ],
  ])('%s', (_, given, expected) => {
    expect(normalizeMessages(given)).toEqual(expected);
  });

  it.each([
    ['messages', []],
    ['messages[0].role', [{ role: 'robot' }]],
    ['messages[0].role', [{ role: 'constructor' }]],
    ['messages[0].role', [{ role: { toString: 1 } }]],
    ['messages[1]', [{ role: 'user' }, null]],
    ['messages[0]', [[]]],
    ['messages[0].content[0]', [{ role: 'user', content: [null] }]],
    ['messages[0].content[0].text', [{ role: 'user', content: [{ type: 'text', text: 5 }] }]],
    ['messages[0].content[0].type', [{ role: 'user', content: [{ type: 'toString' }] }]],
    ['messages[0].tool_calls[0]', [{ role: 'assistant', tool_calls: ['call'] }]],
    ['messages[0].content', [{ role: 'user', content: 3 }]],
    [
      'messages[0].content[1].type',
      [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'see' },
            { type: 'image_url', image_url: {} },
          ],
        },
      ],
    ],
    ['messages[0].tool_calls', [{ role: 'assistant', tool_calls: {} }]],
    ['messages[0].tool_calls[0].function.name', [{ role: 'assistant', tool_calls: [{}] }]],
    ['messages[0].function_call.name', [{ role: 'assistant', function_call: {} }]],
  ])('rejects %s by name', (param, messages) => {
    expect(() => normalizeMessages(messages)).toThrow(
      expect.objectContaining({ status: 400, details: { param } }),
    );
  });

  // A search that starts again at every quote would take minutes for these.
  it.each([
    ['cut off after many quotes', `{"code": "${String.raw`print(\"x\")\n`.repeat(70_000)}`],
    ['a string of many escapes', `{"code": "${String.raw`\n`.repeat(5_000_000)}"}`],
  ])('reads long arguments: %s', (_, text) => {
    const [message] = normalizeMessages([
      { role: 'assistant', tool_calls: [{ function: { name: 'f', arguments: text } }] },
    ]);
    expect(message?.tool_calls?.[0]?.function.arguments).toBe(text);
  });
});
