import { expect, it } from 'vitest';
import { parse } from 'yaml';
import type { JobRecord } from '../store/jobs.js';
import { configurationText, stepsOf, type JobPlan } from './configuration.js';

const planOf = (count: number, batch_size: number, n_epochs: number): JobPlan => ({
  job: { id: 'ftjob-1', model: 'm', seed: 1, method: { type: 'supervised' } } as JobRecord,
  settings: { model: { model_path: 'm' } },
  numbers: { batch_size, n_epochs, learning_rate_multiplier: 1 },
  baseRate: 1e-4,
  runs: 'runs',
  rows: { path: 'rows.jsonl', count },
  graderModels: {},
  pythonGraders: false,
});

const upTo = (last: number): readonly number[] => Array.from({ length: last }, (_, i) => i + 1);

it.each(upTo(9))('saves a checkpoint after each epoch of %i rows, at most ten of a job', (rows) => {
  for (const batch of upTo(rows))
    for (const epochs of [1, 2, 3, 5, 9, 10, 11, 24]) {
      const plan = planOf(rows, batch, epochs);
      const { trainer } = parse(configurationText(plan)) as { trainer: { save_interval: number } };
      // The last step is saved as well.
      const checkpoints = Math.ceil(stepsOf(plan) / trainer.save_interval);
      expect(checkpoints).toBeLessThanOrEqual(Math.min(10, epochs));
      const isWhole = rows % batch === 0 && epochs <= 10;
      expect(checkpoints).toBeGreaterThanOrEqual(isWhole ? epochs : 1);
    }
});

it.each([
  [{}, true],
  [{ tinker: { enable: false } }, true],
  [{ tinker: { rank: 8 } }, true],
  [{ tinker: { enable: true } }, false],
  [{ lora_configs: [] }, false],
])('trains an adapter of the embedded engine with %j: %j', (more, isAdapter) => {
  const settings = { model: { model_path: 'm', ...more } };
  const { model } = parse(configurationText({ ...planOf(1, 1, 1), settings })) as {
    readonly model: { readonly lora_configs?: readonly object[] };
  };
  expect((model.lora_configs ?? []).length > 0).toBe(isAdapter);
});
