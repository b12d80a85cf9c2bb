import { describe, expect, it } from 'vitest';
import { testRuntime } from './test-runtime.js';

describe('the log of a test runtime', () => {
  it('keeps lines with their level and the fields of every parent', () => {
    const { logger } = testRuntime();
    logger.info('one', { a: 1 });
    logger.child({ component: 'explorer' }).child({ step: 3 }).warn('two', { step: 4 });
    expect(logger.lines).toEqual([
      { level: 'info', message: 'one', fields: { a: 1 } },
      { level: 'warn', message: 'two', fields: { component: 'explorer', step: 4 } },
    ]);
    expect([logger.messages(), logger.messages('warn'), logger.messages('error')]).toEqual([
      ['one', 'two'],
      ['two'],
      [],
    ]);
  });
});
