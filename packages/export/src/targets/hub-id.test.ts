import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { hubIdOf } from './hub-id.js';

it.each([
  ['Qwen/Qwen3-0.6B', 'Qwen/Qwen3-0.6B'],
  ['Qwen/Qwen3-0.6B@main', 'Qwen/Qwen3-0.6B'],
  ['Qwen/Qwen3-GGUF/model-Q8_0.gguf', 'Qwen/Qwen3-GGUF'],
  ['/home/me/models/tiny', undefined],
  ['./models/tiny', undefined],
  ['../tiny', undefined],
  ['tiny', undefined],
])('of %s is %s', (base, id) => {
  expect(hubIdOf(base)).toBe(id);
});

it('of a relative folder that looks like an id is undefined', () => {
  const folder = path.relative('.', mkdtempSync('models-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  mkdirSync(path.join(folder, 'tiny'));
  expect(hubIdOf(`${folder}/tiny`)).toBeUndefined();
});
