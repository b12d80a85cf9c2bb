import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { isUnfinished, writeStageProgress } from '../src/run/progress.js';

const root = mkdtempSync(path.join(tmpdir(), 'trinity-stages-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));

it('calls a run of two stages unfinished from its first stage on until both have ended', async () => {
  const job = path.join(root, 'job');
  const seen = [await isUnfinished(job, 2)];
  for (const latestStage of [0, 1, 2]) {
    await writeStageProgress(job, { latestStage });
    seen.push(await isUnfinished(job, 2));
  }
  expect(seen).toEqual([false, true, true, false]);
});
