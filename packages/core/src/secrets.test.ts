import { describe, expect, it } from 'vitest';
import { isSecretName, knowSecret, knowSecretsOf, redactText } from './secrets.js';

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
  ])('is true for %s', (name) => {
    expect(isSecretName(name)).toBe(true);
  });

  it.each([
    '',
    'prompt_key',
    'promptKey',
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

  it('leaves addresses without a password and words that begin like a key alone', () => {
    const text = 'https://host:8000/a@b user@host sk-1 task-oriented-sampling hf_x';
    expect(redactText(text)).toBe(text);
  });
});
