/** Warning about a stage that has discarded most of its experiences. */
import type { StageConfig } from '@trinity-rft/config';
import { expect, it } from 'vitest';
import { warnOfStale } from '../src/modes/both.js';

const counts = { total: 32, waiting: 0, leased: 0, trained: 8 };

async function warningsOf(
  args: Readonly<Record<string, unknown>>,
  found: Partial<typeof counts> = {},
  replay?: object,
): Promise<readonly string[]> {
  const stage = {
    algorithm: { sampleStrategy: { name: 'staleness_control', args } },
    buffer: { trainerInput: { experienceBuffer: { storageType: 'queue', replay } } },
  } as unknown as StageConfig;
  const lines: string[] = [];
  const store = { counts: () => Promise.resolve({ ...counts, ...found }) };
  await warnOfStale(stage, store, { warn: (line) => void lines.push(line) });
  return lines;
}

it('counts what was discarded, and names the keys that avoid it', async () => {
  const [line, ...more] = await warningsOf({ maxStaleness: 1 }, { waiting: 4, leased: 2 });
  expect(more).toEqual([]);
  expect(line).toMatch(/^18 of 26 experiences were not trained on.*buffer\.train_batch_size/);
});

it('does not count what waits or is leased, and not what was never too old', async () => {
  expect(await warningsOf({ maxStaleness: 1 }, { waiting: 14, leased: 2 })).toEqual([]);
  expect(await warningsOf({})).toEqual([]);
  expect(await warningsOf({ maxStaleness: 1 }, {}, { priorityFn: 'linear_decay' })).toEqual([]);
});
