/** Personal data in texts, arguments and numbers. */
import { expect, it } from 'vitest';
import { redactValue } from '../src/redact/redact.js';
import { importLines } from './support.js';

it.each([
  ['Write to bob.b+x@mail.example.co.uk.', 'Write to [email].', 'email'],
  ['Call +49 170 1234567 or', 'Call [phone] or', 'phone'],
  ['Call (555) 123-4567 or', 'Call [phone] or', 'phone'],
  ['Call 0170/1234567', 'Call [phone]', 'phone'],
  ['Pay to DE89 3704 0044 0532 0130 00.', 'Pay to [iban].', 'iban'],
  ['Card 4111 1111 1111 1111.', 'Card [card].', 'card'],
  ['Card 5555-5555-5555-4444', 'Card [card]', 'card'],
  ['From 192.168.0.17:80', 'From [ip]:80', 'ip'],
  ['From 2001:db8::8a2e:370:7334 it', 'From [ip] it', 'ip'],
  ['Key sk-abcdefgh12345678', 'Key [key]', 'key'],
])('replaces what "%s" holds', (text, expected, kind) => {
  expect(redactValue(text)).toEqual({ value: expected, counts: { [kind]: 1 } });
});

it.each([
  'In 2024-11-05 10:30:00 version 1.2.3.4.5',
  'Order 1234567890, 3.14159265358979, 1700000000000',
  'Card 4111 1111 1111 1112',
  'IBAN DE89 3704 0044 0532 0130 01',
  'Address 999.1.1.1, a::b, 12:30:45',
  'a@b, @name, name@host',
  '2 + 2 = 4, 100 000 000',
])('leaves "%s" as it is', (text) => {
  expect(redactValue(text)).toEqual({ value: text, counts: {} });
});

it('keeps arguments of tools JSON, and counts in the report', async () => {
  const args = JSON.stringify({ note: 'Dear\nann@example.org', card: 4111111111111111 });
  const { rows, report } = await importLines(
    [
      {
        messages: [
          { role: 'user', content: 'Send.' },
          {
            role: 'assistant',
            tool_calls: [{ id: 'a', function: { name: 'f', arguments: args } }],
          },
        ],
      },
    ],
    { redact: true },
  );
  const [, { tool_calls: calls } = { tool_calls: [] }] = rows[0]!['messages'] as {
    tool_calls: { function: { arguments: string } }[];
  }[];
  expect(JSON.parse(calls[0]?.function.arguments ?? '')).toEqual({
    note: 'Dear\n[email]',
    card: '[card]',
  });
  expect(report.redacted).toEqual({ email: 1, card: 1 });
});

it('takes time in proportion to the length of a text', () => {
  const hostile = [
    '1 '.repeat(50_000),
    'a@'.repeat(50_000),
    'A1'.repeat(50_000),
    ':'.repeat(100_000),
    'a.'.repeat(50_000) + '@',
    '1.'.repeat(50_000),
  ];
  const start = performance.now();
  for (const text of hostile) redactValue(text);
  expect(performance.now() - start).toBeLessThan(5_000);
});
