import { describe, expect, it } from 'vitest';
import {
  isSecretName,
  knowSecret,
  knowSecretHeaders,
  knowSecretsOf,
  redactText,
} from './secrets.js';

const pemOf = (what: string, body: string): string =>
  `-----BEGIN ${what}-----\n${body}\n-----END ${what}-----`;

describe('isSecretName', () => {
  it.each([
    'api_key',
    'apiKey',
    'API_KEY',
    'WANDB_API_KEY',
    'key',
    'apikey',
    'hf-token',
    'HF_TOKEN',
    'HFToken',
    'accessTokens',
    'password',
    'db_password_file',
    'clientSecret',
    'secretName',
    'AWS_SECRET_ACCESS_KEY',
    'Authorization',
    'PRIVATE_KEY_PEM',
    'apiKeyBase64',
  ])('is true for %s', (name) => {
    expect(isSecretName(name)).toBe(true);
  });

  it.each([
    '',
    'prompt_key',
    'promptKey',
    'prompt-key',
    'workflow_key',
    'feature_keys_note',
    'maxTokensPerStep',
    'max_token_len_per_gpu',
    'tokenizer_path',
    'keyboard',
    'monkey',
    'author',
    'step',
  ])('is false for %j', (name) => {
    expect(isSecretName(name)).toBe(false);
  });
});

describe('redactText', () => {
  it.each([
    ['postgres://me:pw@host/db', 'postgres://me:[redacted]@host/db'],
    ['use sk-abcdefgh12345', 'use [redacted]'],
    ['the key rk_abcdefgh12345 of a run', 'the key [redacted] of a run'],
    ['/r/a/rk_eyJhIjoxfQ.abcdefghij0123456789/v1', '/r/a/[redacted]/v1'],
    ['adminKey: ak_abcdefgh12345', 'adminKey: [redacted]'],
    ['authorization: Bearer abc', 'authorization: Bearer [redacted]'],
    ['Bearer $2a$10$abcdefgh', 'Bearer [redacted]'],
    ['password := "hunter"', 'password := "[redacted]"'],
    ['Authorization: Basic dTpwdw==', 'Authorization: Basic [redacted]'],
    ['GET /v1?api_key=4f0c2a91&n=1', 'GET /v1?api_key=[redacted]&n=1'],
    ['--api-key 4f0c2a91 --n 1', '--api-key [redacted] --n 1'],
    ['token=plainword, n=1', 'token=[redacted], n=1'],
    ['x-api-key: 4f0c2a91', 'x-api-key: [redacted]'],
    [
      '{"api_key":"a b","n":1,"password": "pw"}',
      '{"api_key":"[redacted]","n":1,"password": "[redacted]"}',
    ],
    ['{"message":"refused api_key=pw"}', '{"message":"refused api_key=[redacted]"}'],
    ['"{\\"client_secret\\": \\"pw\\"}"', '"{\\"client_secret\\": \\"[redacted]\\"}"'],
    ['%22access_token%22%3A%22pw%22', '%22access_token%22%3A%22[redacted]'],
    ['https://averyveryverylongtoken1@host/x', 'https://[redacted]@host/x'],
    ['eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln', '[redacted]'],
    [`got ${Buffer.from('{"password":"hunter2"}').toString('base64')}!`, 'got [redacted]!'],
    [`${pemOf('PRIVATE KEY', 'TUlJ\nRXZR')} after`, '[redacted] after'],
    [`{"k":"${pemOf('RSA PRIVATE KEY', 'TUlJ\\nRXZR')}"}`, '{"k":"[redacted]"}'],
  ])('takes the secret out of %s', (text, expected) => {
    expect(redactText(text)).toBe(expected);
  });

  it('takes out known secrets, however they look, the longer one first', () => {
    knowSecret('correct horse');
    knowSecret('short');
    knowSecretsOf({ MY_API_KEY: 'correct horse battery', HOME: '/home/somebody' });
    expect(
      redactText('a correct horse battery, a correct horse, a short one in /home/somebody'),
    ).toBe('a [redacted], a [redacted], a short one in /home/somebody');
  });

  it('takes out the values of headers, without their scheme, but not what describes the content', () => {
    knowSecretHeaders({
      Authorization: 'bearer wxyz-quokka-17',
      cookie: 'quokka-session',
      'Content-Type': 'application/json',
      'user-agent': 'quokka-agent',
      Origin: 'http://quokka.test',
    });
    expect(
      redactText('wxyz-quokka-17 quokka-session application/json quokka-agent http://quokka.test'),
    ).toBe('[redacted] [redacted] application/json quokka-agent http://quokka.test');
  });

  it('takes out a known secret in URLs, JSON, hex and base64 wherever it begins', () => {
    const secret = 'p@ss w"rd/+~\n4711';
    knowSecret(secret);
    for (const before of ['', 'a', 'ab', 'abc']) {
      const text = `${before}${secret}xyz`;
      for (const encoded of [
        encodeURIComponent(text),
        JSON.stringify(JSON.stringify(text)),
        Buffer.from(text).toString('hex'),
        Buffer.from(text).toString('base64url'),
      ])
        expect(redactText(`<${encoded}>`)).toMatch(/\[redacted\]/);
    }
  });

  it.each([
    'max_tokens=512, "tokens": [1, 2], eos_token="</s>", prompt_key=question',
    'api_key: expected a text; unknown key: temperature_x; api_key: ${env:KEY}',
  ])('leaves %s alone', (text) => {
    expect(redactText(text)).toBe(text);
  });

  it.each([
    'api_key=',
    'a-',
    '"',
    "k='",
    '-----BEGIN PRIVATE KEY-----',
    '-',
    '://',
    'sk-',
    'eyJ',
    'A',
    ':',
    ' ',
    '\\"',
  ])('takes linear time on many %j', (part) => {
    const text = part.repeat(200_000 / part.length);
    const times = [1, 2, 3].map(() => {
      const start = performance.now();
      redactText(text);
      return performance.now() - start;
    });
    // A pause of the machine makes one of them long.
    expect(Math.min(...times)).toBeLessThan(1000);
  });

  it('takes out a value with many dots without trying each of their divisions', () => {
    // Quadratic time would be minutes.
    expect(redactText(`key=A${'.'.repeat(500_000)}12`)).toBe('key=[redacted]');
  });

  it('leaves addresses without a password and words that begin like a key alone', () => {
    const text = 'https://host:8000/a@b user@host sk-1 task-oriented-sampling hf_x';
    expect(redactText(text)).toBe(text);
  });
});
