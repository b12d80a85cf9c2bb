import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createExperience } from '@trinity-rft/core';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { recordAnswers } from './evaluation-answers.js';
import { readExperiences } from './read-experiences.js';

let file: string;
beforeEach(() => {
  file = path.join(mkdtempSync(path.join(tmpdir(), 'trinity-answers-')), 'new', 'answers.db');
});
afterEach(() => rmSync(path.dirname(path.dirname(file)), { recursive: true, force: true }));

function record(policyVersion: number, rewards: readonly number[], tokens = 2): void {
  const answers = rewards.map((reward, task) =>
    createExperience({
      tokens: new Int32Array(tokens),
      promptLength: 1,
      eid: { batch: `7/set`, task, run: 0, step: 0, suffix: '0' },
      policyVersion,
      reward,
    }),
  );
  recordAnswers({ path: file, set: 'set', policyVersion, answers });
}

function stored(): readonly (readonly [string, number | undefined])[] {
  const reader = readExperiences(file);
  try {
    return [...reader.experiences()].map(({ eid, reward }) => [`${eid.batch}/${eid.task}`, reward]);
  } finally {
    reader.close();
  }
}

it('replaces what the same weights answered before', () => {
  record(3, [0, 1]);
  record(4, [1]);
  record(3, [0.5]);
  expect(stored()).toEqual([
    ['4/set/0', 1],
    ['3/set/0', 0.5],
  ]);
});

it('keeps the first version and the newest fifteen', () => {
  for (let version = 0; version < 20; version++) record(version, [version]);
  expect(stored().map(([, reward]) => reward)).toEqual([
    0,
    ...Array.from({ length: 15 }, (_, i) => i + 5),
  ]);
});

it('stores the first tasks of a set that is too large', () => {
  record(0, [1, 0.5, 0.25], 2 ** 19);
  expect(stored()).toHaveLength(2);
});
