import { expect, it, vi } from 'vitest';
import type { TestModule } from 'vitest/node';
import StuckTests from './stuck-tests.ts';

it('names the files that do not end, and ends the run', async () => {
  const lines: string[] = [];
  vi.spyOn(console, 'error').mockImplementation((line: string) => void lines.push(line));
  const exit = vi.spyOn(process, 'exit').mockImplementation((() => undefined) as () => never);
  const reporter = new StuckTests({ afterMs: 60 });
  const [ended, stuck] = ['ended.test.ts', 'stuck.test.ts'].map(
    (relativeModuleId) => ({ relativeModuleId }) as TestModule,
  ) as [TestModule, TestModule];
  reporter.onTestModuleQueued(ended);
  reporter.onTestModuleQueued(stuck);
  reporter.onTestCaseResult();
  reporter.onTestModuleEnd(ended);
  await expect.poll(() => exit.mock.calls).toEqual([[1]]);
  expect(lines.slice(0, 2)).toEqual([
    '\nNo test has ended for 0.001 minutes. These files do not end:',
    '  stuck.test.ts',
  ]);
});
