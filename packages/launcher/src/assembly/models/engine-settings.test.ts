import type { StageConfig } from '@trinity-rft/config';
import { expect, it } from 'vitest';
import { engineSettings } from './engine-settings.js';

it.each([
  [{}, undefined],
  [{ TINKER_BASE_URL: '' }, undefined],
  [{ TINKER_BASE_URL: 'http://gpu-1:8000' }, 'http://gpu-1:8000'],
])('the address of the Tinker server in %j is %s', (env, expected) => {
  const algorithm = { optimizer: {} };
  const stage = { engine: 'tinker', algorithm, model: { tinker: {} } } as StageConfig;
  expect(engineSettings(stage, env)?.baseUrl).toBe(expected);
});
