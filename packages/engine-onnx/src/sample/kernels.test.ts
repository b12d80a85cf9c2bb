import { expect, it } from 'vitest';

import { cpu } from '../../test/support/runtime.js';
import { embeddingName, parameterSpecs, perLayerNames } from '../model/parameters.js';
import { readModelConfig } from '../storage/model-folder.js';
import { createSamplerKernels } from './kernels.js';

it.each([
  ['gemma4_text', [perLayerNames.table]],
  ['qwen3', []],
  ['llama', [embeddingName]],
])('an execution of %s reads all weights but rows of its tables', async (family, tables) => {
  const path = new URL(`../../test/fixtures/${family}`, import.meta.url).pathname;
  const config = await readModelConfig(path);
  const read = parameterSpecs(config).filter(({ name }) => !tables.includes(name));
  const bytes = read.reduce((sum, { size }) => sum + 4 * size, 0);
  const kernels = createSamplerKernels(config, cpu());
  expect(kernels.weightBytes).toBe(bytes);
  await kernels.close();
});
