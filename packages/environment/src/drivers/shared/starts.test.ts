import { expect, it } from 'vitest';
import { miniwob } from '../miniwob/miniwob.js';
import { openenv } from '../openenv/openenv.js';
import { python } from '../python/python.js';
import { createStartCheck } from './starts.js';

it('names an argument that each driver with the check has', () => {
  const check = createStartCheck('It');
  check({ row: {}, seed: 1 }, 'dim');
  const again = () => check({ row: {}, seed: 1 }, 'dark');
  expect(again).toThrow(/set environment_args\.check_starts: false/);
  const off = { check_starts: false };
  expect(python.checkArgs({ kind: 'a:b', ...off })).toEqual([]);
  expect(openenv.checkArgs({ url: 'http://127.0.0.1:9', ...off })).toEqual([]);
  expect(miniwob.checkArgs({ pages: 'html', task: 'click-button', ...off })).toEqual([]);
});
