import { describe, expect, it } from 'vitest';
import { redact, showValue } from './secrets.js';

describe('redaction', () => {
  it('keeps the shape and takes out the values', () => {
    expect(
      redact({
        a: { api_key: 'x', port: 1 },
        list: [{ token: 5 }],
        url: 'postgres://me:pw@host/db',
        note: 'use sk-abcdefgh12345',
        max_tokens: 5,
        password: true,
      }),
    ).toEqual({
      a: { api_key: '[redacted]', port: 1 },
      list: [{ token: '[redacted]' }],
      url: 'postgres://me:[redacted]@host/db',
      note: 'use [redacted]',
      max_tokens: 5,
      password: true,
    });
  });

  it('shows long values short, and nothing as nothing', () => {
    expect(showValue('x'.repeat(200)).length).toBe(60);
    expect(showValue(null)).toBe('nothing');
    expect(showValue('x', ['env_vars', 'MY_KEY'])).toBe('[redacted]');
  });
});
