import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { StageConfig } from '@trinity-rft/config';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { inputsOf } from './inputs.js';

const root = mkdtempSync(path.join(tmpdir(), 'trinity-inputs-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));
const at = (...parts: readonly string[]): string => path.join(root, ...parts);

/** A folder with a file, a folder, and links to a file, to a folder and to nothing. */
beforeAll(() => {
  mkdirSync(at('data/inner'), { recursive: true });
  writeFileSync(at('data/a.json'), '{}');
  writeFileSync(at('elsewhere.json'), '[]');
  symlinkSync(at('elsewhere.json'), at('data/linked.json'));
  symlinkSync(at('data/inner'), at('data/folder'));
  symlinkSync(at('missing'), at('data/dangling'));
});

it.each([
  ['model.model_path', { model: { modelPath: at('data') } }],
  ['algorithm.args.table', { model: {}, algorithm: { args: { table: 'data' } } }],
])('%s: the files of a folder, and the files that links name', async (key, settings) => {
  const stage = { jobDirectory: at('runs'), ...settings } as unknown as StageConfig;
  const inputs = await inputsOf(stage, { rows: {}, plugins: [], cwd: root, before: undefined });
  expect(Object.keys(inputs).toSorted()).toEqual([`${key}/a.json`, `${key}/linked.json`]);
});
