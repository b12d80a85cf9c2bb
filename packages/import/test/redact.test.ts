/** Personal data in texts, arguments and numbers. */
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { redactValue } from '../src/redact/redact.js';
import { importLines } from './support.js';

it.each([
  ['Write to bob.b+x@mail.example.co.uk.', 'Write to [email].', 'email'],
  ['Call +49 170 1234567 or', 'Call [phone] or', 'phone'],
  ['Call (555) 123-4567 or', 'Call [phone] or', 'phone'],
  ['Call 0170/1234567', 'Call [phone]', 'phone'],
  ['Tel:0170 1234567', 'Tel:[phone]', 'phone'],
  ['Pay to DE89 3704 0044 0532 0130 00.', 'Pay to [iban].', 'iban'],
  ['Card 4111 1111 1111 1111.', 'Card [card].', 'card'],
  ['Card 5555-5555-5555-4444', 'Card [card]', 'card'],
  ['From 192.168.0.17:80', 'From [ip]:80', 'ip'],
  ['From 2001:db8::8a2e:370:7334 it', 'From [ip] it', 'ip'],
  ['Key sk-abcdefgh12345678', 'Key [key]', 'key'],
  ['card 4111 1111 1111 1111 12/27 CVV 123', 'card [card] 12/27 CVV 123', 'card'],
  ['card 4111 1111 1111 1111 123', 'card [card] 123', 'card'],
  ['4111111111111111 12/27', '[card] 12/27', 'card'],
  ['order 1234 4111 1111 1111 1111', 'order 1234 [card]', 'card'],
  ['BE68 5390 0754 7034 BIC KREDBEBB', '[iban] BIC KREDBEBB', 'iban'],
  ['ES91 2100 0418 4502 0005 1332 BIC CAIXESBB', '[iban] BIC CAIXESBB', 'iban'],
  ['ES9121000418450200051332 200 EUR', '[iban] 200 EUR', 'iban'],
  ['AT61 1904 3002 3457 3201 EUR 100', '[iban] EUR 100', 'iban'],
  ['call 555-123-4567 12 times', 'call [phone] 12 times', 'phone'],
  ['Tel 030 12345678 2024 2025', 'Tel [phone] 2025', 'phone'],
  ['+49 171 1234567 1234 5678', '[phone] 1234 5678', 'phone'],
  ['0170/1234567 0171/1234567', '[phone]', 'phone'],
  ["Write to bob.o'neil+x@exämple.co.uk", 'Write to [email]', 'email'],
  ["to = rb'bob@example.org'", "to = rb'[email]'", 'email'],
  ["api_key='4f0c2a91bb77'", "api_key='[key]'", 'key'],
  ["{u'password': u'hunter2'}", "{u'password': u'[key]'}", 'key'],
  ['if password == "hunter2":', 'if password == "[key]":', 'key'],
  ['password != "hunter2"', 'password != "[key]"', 'key'],
  ['password := "hunter2"', 'password := "[key]"', 'key'],
  ['"password" => "hunter2"', '"password" => "[key]"', 'key'],
  ['password = f"hunter2{x}"', 'password = f"[key]"', 'key'],
  ['password=hunter2(admin)', 'password=[key](admin)', 'key'],
  ['password=48151623, max_tokens=48151623', 'password=[key], max_tokens=48151623', 'key'],
  ['Passwort: hunter2', 'Passwort: [key]', 'key'],
  ['password=swordfish(old)', 'password=[key](old)', 'key'],
])('replaces what "%s" holds', (text, expected, kind) => {
  expect(redactValue(text)).toEqual({ value: expected, counts: { [kind]: 1 } });
});

it.each([
  ...['hunter2', 'swordfish', 'Swordfish!', 'correct.horse', 'super_secret_key', 'mypassword'],
  ...['abcdefghijklmnopqrstuvwxyzabcdef', 'correct.horse.battery', '"swordfish"', 'b"hunter2"'],
])('replaces the password %s', (secret) => {
  for (const link of ['=', ' = ', '": ']) {
    const { value, counts } = redactValue(`DB_PASSWORD${link}${secret}`);
    const [quoted = '[key]'] = /^.?".*"$/.test(secret)
      ? [secret.replace(/\w+(?="$)/, '[key]')]
      : [];
    expect(value).toBe(`DB_PASSWORD${link}${quoted}`);
    expect(counts).toEqual({ key: 1 });
  }
});

it.each([
  ...['Authorization: Bearer swordfish', "'Authorization', 'Basic swordfish'"],
  ...[
    'X-Token: Bearer changeme',
    'api_key Bearer changeme',
    'Authorization: Basic dXNlcjpwYXNz',
    'Bearer $2a$10$abcdefgh',
    'Authorization: Bearer <4f0c2a91b7d84e6f>',
    'Bearer [4f0c2a91b7d84e6f]',
    'Bearer {4f0c2a91b7d84e6f}',
    'Authorization: Bearer {hunter2secret',
  ],
])('replaces what follows the scheme in %s', (text) => {
  expect(redactValue(text).value).toBe(text.replace(/(Bearer|Basic) [^']+/, '$1 [key]'));
});

it.each([
  ...['06-12345678', '06 12345678', '03-1234-5678', '02 9876 5432', '08-123 456 78', '01/5134567'],
  ...['02 1234567', '(11) 98765-4321', '(55) 1234 5678', '(030) 12345678', '06 12 34 56 78'],
  ...[
    '01 02 03 04 05',
    '(020) 7946 0958',
    '(495) 123-45-67',
    '00 49 170 1234567',
    '+683 4000',
    '0170/1234567',
    '+49 170 1234567',
    '(555) 123-4567',
  ],
])('replaces the phone number %s', (number) => {
  expect(redactValue(`Tel ${number}.`).value).toBe('Tel [phone].');
});

it.each([
  'In 2024-11-05 10:30:00 version 1.2.3.4.5',
  'Order 1234567890, 3.14159265358979, 1700000000000',
  'Card 4111 1111 1111 1112',
  'IBAN DE89 3704 0044 0532 0130 02',
  'Address 999.1.1.1, a::b, 12:30:45',
  'a@b, @name, name@host',
  '2 + 2 = 4, 100 000 000',
  '1 020 300 400 and 1.000.000.000.000',
  'if password == expected:',
  'password = get_password()',
  "api_key=os.environ['API_KEY'], password=password, token=self.token)",
  "headers = {'Authorization': f'Bearer {token}', 'x': `Bearer ${token}`}",
  "headers = {'Authorization': token}",
  'token = tokenizer.next()',
  'token = await f(); rows.sort(key=lambda row: row.id); users.map((token) => token.text)',
  'self.password = config.db_password; password = getpass()',
  'curl -H "Authorization: Bearer $TOKEN"',
  'Bearer <token>, Bearer <your-token>, Bearer [key], Bearer {{token}}, Bearer {self.token}',
  'const apiKey = process.env.API_KEY;',
  "connect(password='{password}')",
  'Basic arithmetic, Bearer tokens',
  '(1) 250 000 (2) 300 000',
  '(2020) 1234567, year (1999) 2000 2001',
  '1234 +5678901, (12) 34567 / 5',
  '06/12/24 10:30, 01/15-01/20, Jan 05 2024 1430',
  '2024-01-05 10:00:00 12345 requests, 12:30:05 1234567 INFO, 10:00 15 000 people',
  'section 1.2.3.4 of Version 2.0.0.1',
  '01/02/2025 10:30, 2024/01/02 2025/01/02, 02.01.2025 02.01.2026',
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

/** A conversation that ends with a call of `put` with these arguments. */
const calling = (args: object) => ({
  messages: [
    { role: 'user', content: 'Go.' },
    {
      role: 'assistant',
      tool_calls: [{ id: 'a', function: { name: 'put', arguments: JSON.stringify(args) } }],
    },
  ],
});

it('replaces secrets that only their field gives away', async () => {
  const secrets = {
    password: 'hunter2secret',
    apiKey: '4f0c2a91bb77',
    'db-passwords': ['a1b2c3'],
    AWS_SECRET_ACCESS_KEY: 'wJalrXUtnFEMI',
    access_token: 'd9f8e7c6',
    Authorization: 'd1e2f3a4',
    client_secret: 'correcthorsebattery',
    passphrase: 'swordfish',
    passwort: 'kennwort',
    wifi_password: 48151623,
    JWT_SECRET: 'supersecret',
  };
  const kept = { password: '', api_key: '${API_KEY}', secret: '{{secret}}', user: 'ann' };
  const { rows, report } = await importLines([calling({ ...secrets, login: kept })], {
    redact: true,
  });
  const written = JSON.stringify(rows[0]);
  for (const secret of Object.values(secrets).flat()) expect(written).not.toContain(String(secret));
  expect(written).toContain(JSON.stringify(JSON.stringify(kept)).slice(1, -1));
  expect(report.redacted).toEqual({ key: 11 });
  const once = { value: { api_key: '[key]' }, counts: { key: 1 } };
  expect(redactValue({ api_key: '4f0c2a91bb77' })).toEqual(once);
  expect(redactValue(once.value)).toEqual({ ...once, counts: {} });
});

it('leaves ordinary data in fields whose names end in key or token', async () => {
  const id = '3f2504e0-4f89-11d3-9a0c-0305e82c3301';
  const data = {
    answerKey: 'B',
    issue_key: 'PROJ-12',
    primary_key: id,
    public_key: 'ssh-ed25519',
    idempotency_key: id,
    page_token: 'CAUQAA',
    Key: 'reports/2024/q1-summary.csv',
    key: 'Enter',
    tokens: ['EU', '1996-08-22', '2'],
    eos_token: '</s>',
    max_tokens: '512',
    prior_authorization: 'approved',
    auth: 'basic',
    credentials: 'same-origin',
    authorization: 'required',
    secret: 'apple',
    forgot_password: 'Ask for a new one.',
    passwords: 1200,
    password: 3,
    dependentRequired: { api_key: ['region'] },
  };
  expect(redactValue(data)).toEqual({ value: data, counts: {} });
  const calls = ['user:1', 'user:2', 'user:3'].map((key) => calling({ key }));
  const { rows, report } = await importLines(calls, { redact: true });
  expect(rows).toHaveLength(3);
  expect(report.duplicates).toBe(0);
});

it('leaves the schemas of tools as they are', () => {
  const schema = { properties: { password: { type: 'string' } }, required: ['password'] };
  expect(redactValue(schema)).toEqual({ value: schema, counts: {} });
});

const group = fc.oneof(
  fc.integer({ min: 0, max: 99 }).map(String),
  fc.constantFrom('BIC', 'EUR', 'KREDBEBB', 'and', '12/27'),
);
const numbers = {
  card: ['4111 1111 1111 1111', '5555-5555-5555-4444', '4111111111111111'],
  iban: ['BE68 5390 0754 7034', 'DE89 3704 0044 0532 0130 00', 'ES9121000418450200051332'],
  phone: ['+49 171 1234567', '(555) 123-4567', '555-123-4567', '030 12345678'],
};

it.each(Object.entries(numbers))('replaces each %s among other groups', (_kind, all) => {
  const property = fc.property(
    fc.array(group, { maxLength: 4 }),
    fc.constantFrom(...all),
    fc.array(group, { maxLength: 4 }),
    (before, number, after) => {
      const { value, counts } = redactValue([...before, number, ...after].join(' '));
      expect(value).not.toContain(number);
      expect(value).not.toContain(number.split(/[ -]/).at(-1)?.padStart(5, ' '));
      expect(Object.keys(counts)).not.toHaveLength(0);
    },
  );
  fc.assert(property, { numRuns: 500 });
});

it('replaces what keys hold, also in JSON text', () => {
  const given = { 'bob@example.com': 1 };
  const value = { '[email]': 1 };
  expect(redactValue(given)).toEqual({ value, counts: { email: 1 } });
  expect(redactValue(JSON.stringify(given)).value).toBe(JSON.stringify(value));
});

it('redacts what the report quotes before it is shortened', async () => {
  const history = [`${'x'.repeat(60)} 4111 1111 1111 1111`];
  const { report } = await importLines(
    [
      { instruction: 'a', output: 'b' },
      { instruction: 'a', output: 'b', history },
    ],
    { redact: true },
  );
  const [detail] = report.skipped.flatMap(({ first }) => first.map((place) => place.detail));
  expect(detail).toContain('xxx [card]');
  expect(detail?.length).toBeLessThan(100);
});

it('takes time in proportion to the length of a text', () => {
  const hostile = [
    '1 '.repeat(50_000),
    'a@'.repeat(50_000),
    'A1'.repeat(50_000),
    ':'.repeat(100_000),
    'a.'.repeat(50_000) + '@',
    '1.'.repeat(50_000),
    '4 '.repeat(5_000),
    'BE68 '.repeat(5_000),
    '012 '.repeat(5_000),
  ];
  const times = [1, 2, 3].map(() => {
    const start = performance.now();
    for (const text of hostile) redactValue(text);
    return performance.now() - start;
  });
  // A pause of the machine makes one of them long.
  expect(Math.min(...times)).toBeLessThan(5_000);
});
