import {
  mkdirSync,
  mkdtempSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { StageConfig } from '@trinity-rft/config';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { changedInputs, inputsOf, type Inputs } from './inputs.js';

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

describe('a file that an argument names', () => {
  const digests = (file: string, before?: Inputs) =>
    inputsOf({ jobDirectory: at('runs'), algorithm: { args: { file } }, model: {} } as never, {
      rows: {},
      plugins: [at('gone.ts')],
      cwd: root,
      before,
    });

  it('is left out if it is gone or cannot be read', async () => {
    const keys = Object.keys(await digests('data'));
    expect(keys.toSorted()).toEqual([
      'algorithm.args.file/a.json',
      'algorithm.args.file/linked.json',
    ]);
    // Reading files of this folder fails, or gives more bytes than a disk holds.
    expect(await digests('/proc/self')).toBeDefined();
  });

  it('is compared by size alone if it is large', async () => {
    const file = at('large');
    writeFileSync(file, 'begin');
    const small = await digests(file);
    truncateSync(file, 2 ** 30);
    const large = await digests(file);
    truncateSync(file, 2 ** 30 + 1);
    const larger = await digests(file);
    utimesSync(file, 1, 1);
    expect(changedInputs(larger, await digests(file, larger))).toEqual([]);
    expect(new Set([small, large, larger].map(Object.values).map(([it]) => it.sha256)).size).toBe(
      3,
    );
  });

  it('keeps the digest of the contents that a record has, if it is large', async () => {
    const file = at('recorded');
    writeFileSync(file, '');
    truncateSync(file, 2 ** 30);
    const { size: sizeBytes, ctimeMs: changedMs, ino: inode } = statSync(file);
    const key = 'algorithm.args.file';
    const before = { [key]: { sha256: 'contents', stat: { sizeBytes, changedMs, inode } } };
    expect(changedInputs(before, await digests(file, before))).toEqual([]);
    utimesSync(file, 1, 1);
    expect(changedInputs(before, await digests(file, before))).toEqual([]);
    truncateSync(file, 2 ** 30 + 1);
    expect(changedInputs(before, await digests(file, before))).toEqual([key]);
  });
});
