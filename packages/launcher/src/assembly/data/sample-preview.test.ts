import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { readExperiences, sqliteExperienceStore } from '@trinity-rft/buffer';
import type { StageConfig } from '@trinity-rft/config';
import { createExperience } from '@trinity-rft/core';
import { testRuntime } from '@trinity-rft/testing';
import { afterAll, expect, test } from 'vitest';
import type { StageModel } from '../models/chat-format.js';
import { withPreview } from './sample-preview.js';

const root = mkdtempSync(path.join(tmpdir(), 'sample-preview-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));

test('a preview is written, and the store gets the advantages of the step', async () => {
  const file = path.join(root, 'experiences.db');
  const store = sqliteExperienceStore({ path: file });
  const eid = { batch: 1, task: 0, step: 0 };
  const tokens = { tokens: [1, 2, 3], promptLength: 1, logprobs: [-1, -2], temperature: 1 };
  await store.put([createExperience({ eid, ...tokens, policyVersion: 0, reward: 1 })]);
  const stage = { trainer: { enablePreview: true }, monitor: { directory: root } } as StageConfig;
  const format = { tokenizer: { decode: (ids: readonly number[]) => ids.join(' ') } };
  const model = { format, runtime: testRuntime() } as unknown as StageModel;
  const lease = await withPreview(store, stage, model).take(1);
  await lease!.acknowledge(1, [Float32Array.of(0.5, 0.5)]);
  const reader = readExperiences(file);
  expect(reader.usedSince(1)).toEqual([{ trainStep: 1, dropped: false, id: 1, advantage: 0.5 }]);
  reader.close();
  await store.close();
  expect(JSON.parse(readFileSync(path.join(root, 'samples.jsonl'), 'utf8'))).toMatchObject({
    step: 1,
    response_text: '2 3',
  });
});
