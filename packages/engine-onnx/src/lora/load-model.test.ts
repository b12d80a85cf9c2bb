import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';

import { afterAll, describe, expect, it } from 'vitest';

import { modelBelow } from './load-model.js';

const root = await mkdtemp(join(tmpdir(), 'load-model-'));
afterAll(() => rm(root, { recursive: true, force: true }));

/** Writes a folder that holds only an adapter of another folder. */
async function writeAdapter(name: string, below: string): Promise<string> {
  const folder = join(root, name);
  await mkdir(join(folder, 'lora_adapter'), { recursive: true });
  const config = JSON.stringify({ base_model_name_or_path: below });
  await writeFile(join(folder, 'lora_adapter', 'adapter_config.json'), config);
  return folder;
}

describe('the model below an adapter', () => {
  it.each(['{', 'null', '[]'])('is not known from a broken config: %s', async (text) => {
    const folder = await writeAdapter('broken', 'model');
    const file = join(folder, 'lora_adapter', 'adapter_config.json');
    await writeFile(file, text);
    await expect(modelBelow(folder)).rejects.toThrow(
      `${file} is not a JSON object; copy or save it again.`,
    );
  });

  it('may be a folder that holds only an adapter, too', async () => {
    const model = join(root, 'model');
    await mkdir(model);
    await writeFile(join(model, 'model.safetensors'), '');
    const lower = await writeAdapter('lower', model);
    expect(await modelBelow(await writeAdapter('upper', lower))).toBe(lower);
  });

  it.each([
    ['itself', ['a'], join(root, 'a')],
    ['itself by another path', ['b'], relative('.', join(root, 'b'))],
    ['a folder that belongs to it', ['c', 'd'], join(root, 'c')],
    ['in a loop below it', ['e', 'f', 'g'], join(root, 'f')],
  ])('is not %s', async (_, [first = '', ...others], last) => {
    const belows = [...others.map((name) => join(root, name)), last];
    for (const [i, name] of [first, ...others].entries()) await writeAdapter(name, belows[i]!);
    await expect(modelBelow(join(root, first))).rejects.toMatchObject({
      code: 'BASE_MODEL_MISSING',
      message: expect.stringContaining(`and ${last}, the model that it belongs to`),
    });
  });
});
