import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { StageConfig } from '@trinity-rft/config';
import { testRuntime } from '@trinity-rft/testing';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { openExperienceStore } from './experience-store.js';

let root: string;
beforeEach(() => {
  root = mkdtempSync(path.join(tmpdir(), 'trinity-own-files-'));
});
afterEach(() => rmSync(root, { recursive: true }));

const stageOf = (database: string): StageConfig =>
  ({
    mode: 'both',
    jobDirectory: path.join(root, 'job'),
    buffer: {
      batchSize: 1,
      totalEpochs: 1,
      trainerInput: { experienceBuffer: { storageType: 'sql', path: database, capacity: 1 } },
    },
    algorithm: { repeatTimes: 1 },
    synchronizer: { syncStyle: 'fixed' },
    trainer: {},
  }) as unknown as StageConfig;

it.each([
  ['job/buffer/a.db', 'job/buffer/late_rewards.db'],
  ['data/a.db', 'data/a.db.late_rewards.db'],
])('stores the late rewards of %s in %s', async (database, file) => {
  const store = await openExperienceStore(stageOf(path.join(root, database)), testRuntime(), {});
  store.lateRewards?.add([{ task: '1/0', step: 1, runs: [] }]);
  await store.close();
  expect(existsSync(path.join(root, file))).toBe(true);
});
