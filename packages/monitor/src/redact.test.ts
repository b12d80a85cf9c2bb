import { describe, expect, it } from 'vitest';
import { isSecretName, redactText } from './redact.js';

describe('isSecretName', () => {
  it.each([
    'key',
    'apiKey',
    'API_KEY',
    'hf-token',
    'HFToken',
    'accessTokens',
    'clientSecret',
    'secretName',
    'passwordFile',
    'Authorization',
  ])('is true for %s', (name) => {
    expect(isSecretName(name)).toBe(true);
  });

  it.each(['', 'monkey', 'tokenizer', 'maxTokensPerStep', 'keyboard', 'step', 'author'])('is false for %j', (name) => {
    expect(isSecretName(name)).toBe(false);
  });
});

it('leaves addresses without a password and words that begin like a key alone', () => {
  const text = 'https://host:8000/a@b user@host sk-1 task-oriented-sampling hf_x';
  expect(redactText(text)).toBe(text);
});
