import { describe, expect, it } from 'vitest';
import { testRuntime } from './test-runtime.js';

describe('the log of a test runtime', () => {
  it('keeps lines with their level and fields', () => {
    const { logger } = testRuntime();
    logger.info('one', { a: 1 });
    logger.warn('two');
    expect(logger.lines).toEqual([
      { level: 'info', message: 'one', fields: { a: 1 } },
      { level: 'warn', message: 'two', fields: {} },
    ]);
    expect([logger.messages(), logger.messages('warn'), logger.messages('error')]).toEqual([
      ['one', 'two'],
      ['two'],
      [],
    ]);
  });
});
