import { describe, expect, it } from 'vitest';
import { isSecretKey, redact, showValue } from './secrets.js';

describe('a secret key', () => {
  it.each([
    'api_key',
    'apiKey',
    'WANDB_API_KEY',
    'key',
    'HF_TOKEN',
    'accessToken',
    'password',
    'db_password_file',
    'clientSecret',
    'AWS_SECRET_ACCESS_KEY',
    'apikey',
    'Authorization',
  ])('is %s', (key) => {
    expect(isSecretKey(key)).toBe(true);
  });

  it.each([
    'prompt_key',
    'response_key',
    'feature_keys_note',
    'max_tokens',
    'max_token_len_per_gpu',
    'tokenizer_path',
    'keyboard',
    'monkey',
    'author',
    'workflow_key',
    'promptKey',
  ])('is not %s', (key) => {
    expect(isSecretKey(key)).toBe(false);
  });
});

describe('redaction', () => {
  it('keeps the shape and takes out the values', () => {
    expect(
      redact({
        a: { api_key: 'x', port: 1 },
        list: [{ token: 5 }],
        url: 'postgres://me:pw@host/db',
        note: 'use sk-abcdefgh12345',
        password: true,
      }),
    ).toEqual({
      a: { api_key: '[redacted]', port: 1 },
      list: [{ token: '[redacted]' }],
      url: 'postgres://me:[redacted]@host/db',
      note: 'use [redacted]',
      password: true,
    });
  });

  it('shows long values short, and nothing as nothing', () => {
    expect(showValue('x'.repeat(200)).length).toBe(60);
    expect(showValue(null)).toBe('nothing');
    expect(showValue('x', ['env_vars', 'MY_KEY'])).toBe('[redacted]');
  });
});
