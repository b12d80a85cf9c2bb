import { silentLogger } from '@trinity-rft/core';
import { createMathChecker } from '@trinity-rft/workflow/reward';
import { expect, it } from 'vitest';
import { warnOfUncheckedMath } from './math-warnings.js';

it('warns of a math answer that cannot be compared, without its text, until the warnings end', async () => {
  const lines: string[] = [];
  const checker = createMathChecker({ deadlineMs: 10_000, maxAnswerLength: 1_000_000 });
  const stop = warnOfUncheckedMath(checker, {
    ...silentLogger,
    warn: (message) => lines.push(message),
  });
  // Deeper than the stack of the thread.
  const pair = { rule: 'same', response: '1+'.repeat(100_000) + 'x', truth: '7' } as const;
  await checker.check(pair);
  stop();
  await checker.check(pair);
  expect(lines).toEqual([
    'A math answer broke the comparison and counts as wrong (its text has 200001 characters). The run continues.',
  ]);
  await checker.close();
});
