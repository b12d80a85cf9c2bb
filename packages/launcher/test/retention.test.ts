/** Experiences that `keep_trained_steps` deletes: never one that a resume could need again. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { readExperiences, sqliteExperienceStore } from '@trinity-rft/buffer';
import type { StageConfig } from '@trinity-rft/config';
import { createExperience } from '@trinity-rft/core';
import { writeCheckpoint } from '@trinity-rft/trainer';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { retention } from '../src/assembly/data/retention.js';

let root: string;
beforeEach(() => {
  root = mkdtempSync(path.join(tmpdir(), 'trinity-retention-'));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const trainSteps = [1, 2, 3, 4, 5, 6, 7, 8];

function stageIn(jobDirectory: string, keepTrainedSteps: number | undefined): StageConfig {
  const experienceBuffer = { storageType: 'queue', keepTrainedSteps };
  return { jobDirectory, buffer: { trainerInput: { experienceBuffer } } } as StageConfig;
}

/** A store in which train step n has used experience n. */
async function openTrained(file: string, policyVersion: number) {
  const store = sqliteExperienceStore({ path: file });
  const experience = (task: number) =>
    createExperience({ eid: { batch: 1, task }, tokens: [1, 2], promptLength: 1 });
  await store.put(trainSteps.map(experience), { step: 8, policyVersion });
  for (const step of trainSteps) await (await store.take(1))?.acknowledge(step);
  return store;
}

async function writeCheckpoints(job: string, steps: readonly number[]): Promise<void> {
  mkdirSync(job);
  const fill = (folder: string): Promise<void> =>
    Promise.resolve(writeFileSync(path.join(folder, 'weights'), ''));
  for (const step of steps) await writeCheckpoint(job, { step, final: false, fill });
}

interface Case {
  readonly what: string;
  readonly keep: number;
  readonly checkpoints: readonly number[];
  /** Version of the explorer's weights. */
  readonly version: number;
  /** Train steps whose experiences stay. */
  readonly left: readonly number[];
  /** The earliest step at which the run may have to resume. */
  readonly resumesAt: number;
}

const cases: readonly Case[] = [
  {
    what: 'what is older than the steps to keep',
    keep: 4,
    checkpoints: [2, 4, 6, 8],
    version: 8,
    left: [5, 6, 7, 8],
    resumesAt: 6,
  },
  {
    what: 'nothing after the checkpoint before the newest, which may turn out to be damaged',
    keep: 1,
    checkpoints: [2, 4, 6, 8],
    version: 8,
    left: [7, 8],
    resumesAt: 6,
  },
  {
    what: 'nothing that an explorer needs which has older weights than the trainer',
    keep: 1,
    checkpoints: [2, 4, 6, 8],
    version: 5,
    left: [3, 4, 5, 6, 7, 8],
    resumesAt: 2,
  },
  {
    what: 'nothing while no checkpoint is as old as the weights of the explorer',
    keep: 1,
    checkpoints: [8],
    version: 3,
    left: trainSteps,
    resumesAt: 0,
  },
  {
    what: 'nothing while there are fewer steps than are to be kept',
    keep: 20,
    checkpoints: [2, 4, 6, 8],
    version: 8,
    left: trainSteps,
    resumesAt: 6,
  },
];

it.each(cases)('deletes $what', async ({ keep, checkpoints, version, left, resumesAt }) => {
  const file = path.join(root, 'experiences.db');
  const job = path.join(root, 'job');
  const store = await openTrained(file, version);
  await writeCheckpoints(job, checkpoints);
  await retention(stageIn(job, keep), store)?.(8);
  const reader = readExperiences(file);
  expect(reader.rowsAfter(0, 99).map(({ id }) => id)).toEqual(left);
  reader.close();
  await store.rollback(resumesAt);
  expect(await store.counts()).toMatchObject({ waiting: 8 - resumesAt });
  await store.close();
});

it('deletes nothing by default', async () => {
  const store = await openTrained(path.join(root, 'experiences.db'), 8);
  expect(retention(stageIn(root, undefined), store)).toBeUndefined();
  await store.close();
});
