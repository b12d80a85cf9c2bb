import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { writeCheckpoint } from '@trinity-rft/trainer';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { describeServed, servedName } from './served-model.js';

let jobDirectory: string;
beforeEach(async () => {
  jobDirectory = await mkdtemp(path.join(tmpdir(), 'served-'));
});
afterEach(() => rm(jobDirectory, { recursive: true }));

const stage = (name?: string): Parameters<typeof describeServed>[0] => ({
  project: 'shop',
  name: 'run',
  jobDirectory,
  model: { modelPath: '/models/smol.gguf' },
  explorer: { rolloutModel: { name } },
});

const evaluated = (step: number, mean: number): string =>
  `${JSON.stringify({ role: 'explorer', step, metrics: { 'eval/model_version': step, 'eval/held_out/reward/mean@2': mean }, timing: {} })}\n`;

it('says that a model is not trained', async () => {
  expect(await describeServed(stage(), 0)).toBe(
    `Model: shop/run, NOT TRAINED: the weights of /models/smol.gguf. ${jobDirectory} has no checkpoint after step 0.`,
  );
});

it('names step, checkpoint and the last evaluation up to it', async () => {
  const fill = (folder: string): Promise<void> => writeFile(path.join(folder, 'weights'), '1');
  const { directory } = await writeCheckpoint(jobDirectory, { step: 8, final: false, fill });
  const trained = `Model: shop/run, train step 8 (${directory}).`;
  expect(await describeServed(stage(), 8)).toBe(`${trained} It has not been evaluated.`);
  await mkdir(path.join(jobDirectory, 'monitor'));
  const lines = [evaluated(4, 0.25), evaluated(8, 0.123456), evaluated(12, 0.9)].join('');
  await writeFile(path.join(jobDirectory, 'monitor/metrics.jsonl'), lines);
  expect(await describeServed(stage(), 8)).toBe(
    `${trained} Evaluated after step 8: eval/held_out/reward/mean@2 0.1235.`,
  );
  const benched = [8, 0].map((step) =>
    JSON.stringify({ role: 'bench', step, metrics: { 'bench/held_out/reward/mean@2': 0.5 } }),
  );
  await writeFile(
    path.join(jobDirectory, 'monitor/metrics.jsonl'),
    `${lines}${benched.join('\n')}\n`,
  );
  expect(await describeServed(stage(), 8)).toBe(
    `${trained} Evaluated after step 8: bench/held_out/reward/mean@2 0.5.`,
  );
});

it('has the configured name, else that of the run', () => {
  expect([servedName(stage()), servedName(stage('helper'))]).toEqual(['shop/run', 'helper']);
});
