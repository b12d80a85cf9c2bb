import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { licenseOf } from './license.js';

let folder = '';
beforeEach(async () => void (folder = await mkdtemp(path.join(tmpdir(), 'trinity-license-'))));
afterEach(() => rm(folder, { recursive: true }));

it.each([
  ['---\nlicense: apache-2.0\ntags: [x]\n---\nText.', 'apache-2.0'],
  ['---\r\ntags:\r\n- x\r\nlicense: apache-2.0\r\n---\r\nText.', 'apache-2.0'],
  ['---\nlicense: mit # of the base\n---', 'mit'],
  [`---\ntags: ['---']\nlicense: 'mit'\n---\n`, 'mit'],
  ['---\nlicense: mit\nlicense: mit\nbroken: [\n---\n', 'mit'],
  ['---\ntags: [x]\n---\n# Title\n\nlicense: mit\n\n---\nMore.', undefined],
  ['---\n---\nlicense: mit\n---\n', undefined],
  ['# Title\n\n---\nlicense: mit\n---\n', undefined],
  ['---\nmodel:\n  license: mit\n---\n', undefined],
  ['---\nlicense: [mit, apache-2.0]\n---\n', undefined],
  ['---\nlicense: mit\n', undefined],
])('finds the licence in the front matter of %j', async (card, id) => {
  await writeFile(path.join(folder, 'README.md'), card);
  expect(await licenseOf(folder)).toEqual({ id, text: undefined });
});
