import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createModel } from '@trinity-rft/launcher';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { reportRun } from '../report/run-report.js';
import { findRuns } from '../studio/runs/place.js';
import { stateOf } from '../studio/runs/state.js';
import { stageOrLatest } from './stages.js';
import { findTargets } from './targets.js';

let job: string;
const write = (name: string, content = ''): void => {
  const file = path.join(job, name);
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, content);
};

/** A run of the stages sft and grpo whose copy created the files of grpo first. */
beforeEach(async () => {
  job = mkdtempSync(path.join(tmpdir(), 'trinity-stages-'));
  for (const stage of ['grpo', 'sft']) {
    write(`${stage}/log/trinity.log`, 'line\n');
    write(`${stage}/buffer/b.db`);
    write(`${stage}/buffer/late_rewards.db`);
    write(`${stage}/buffer/a.db`);
    // Files that are created within a tick of the file system's clock have equal times.
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  write('stage_meta.json', '{"latest_stage":1}');
  const stages = [{ stage_name: 'sft' }, { stage_name: 'grpo' }];
  write('settings.json', JSON.stringify({ jobDirectory: job, stages }));
});
afterEach(() => rmSync(job, { recursive: true }));

const names = (folders: readonly string[]): readonly string[] =>
  folders.map((folder) => path.relative(job, folder));

it('has the stages of a copied run in their recorded order', async () => {
  const { stages } = await reportRun(job);
  expect(names(stages.map(({ directory }) => directory))).toEqual(['sft', 'grpo']);
  const targets = await findTargets(job, {});
  expect(names(targets.map(({ database }) => database))).toEqual([
    ...['sft/buffer/a.db', 'sft/buffer/b.db'],
    ...['grpo/buffer/a.db', 'grpo/buffer/b.db'],
  ]);
});

it.each(['serve', 'train'])('has the experiences of a stage of mode %s', async (mode) => {
  const tokenizer = { characters: '0123456789+=\n' };
  await createModel({ directory: path.join(job, 'model'), tokenizer, seed: 1 });
  const config = {
    ...{ mode, project: 'p', group: '', name: 'run', checkpoint_root_dir: 'runs' },
    model: { model_path: 'model', max_prompt_tokens: 16, max_response_tokens: 4 },
    algorithm: { algorithm_type: 'grpo', repeat_times: 2 },
    buffer: {
      ...{ batch_size: 1, train_batch_size: 2 },
      trainer_input: {
        experience_buffer: { name: 'e', storage_type: 'sql', path: 'runs/p/run/buffer/e.db' },
      },
    },
  };
  write('run.yaml', JSON.stringify(config));
  write('runs/p/run/buffer/e.db');
  const targets = await findTargets(path.join(job, 'run.yaml'), { cwd: job, env: {} });
  expect(names(targets.map(({ database }) => database))).toEqual(['runs/p/run/buffer/e.db']);
});

it('knows the latest stage of a copied run', async () => {
  const states = ['sft', 'grpo'].map((stage) => stateOf(path.join(job, stage), []));
  expect((await Promise.all(states)).map(({ state }) => state)).toEqual(['finished', 'stopped']);
});

it('follows the creation of logs where no settings are recorded', async () => {
  rmSync(path.join(job, 'settings.json'));
  const { stages } = await reportRun(job);
  expect(names(stages.map(({ directory }) => directory))).toEqual(['grpo', 'sft']);
});

it('shows the first store by name, as the other commands do', async () => {
  const { places } = await findRuns(job);
  const stores = places.flatMap(({ database }) => database ?? []);
  expect(names(stores).toSorted()).toEqual(['grpo/buffer/a.db', 'sft/buffer/a.db']);
});

it.each([
  ['a stage', 'sft', 'sft'],
  ['evaluations, which are those of the latest stage', 'evaluations', 'grpo'],
  ['the whole run', '', 'grpo'],
])('knows the settings of %s', async (_, folder, name) => {
  expect(await stageOrLatest(path.join(job, folder))).toEqual({ stage_name: name });
});
