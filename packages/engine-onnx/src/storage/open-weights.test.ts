import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { CheckpointError } from '@trinity-rft/core';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { openWeights } from './open-weights.js';
import { writeSafetensors } from './safetensors.js';

let folder: string;
beforeEach(async () => void (folder = await mkdtemp(join(tmpdir(), 'open-weights-'))));
afterEach(() => rm(folder, { recursive: true, force: true }));

const first = { name: 'first', shape: [2, 3], data: Float32Array.of(1, 2, 3, 4, 5, 6) };
const second = { name: 'second', shape: [2], data: Float32Array.of(7, 8) };

async function expectBoth(path: string): Promise<void> {
  const weights = await openWeights(path);
  expect(Object.fromEntries(weights.tensors)).toEqual({
    first: { shape: [2, 3] },
    second: { shape: [2] },
  });
  expect(await weights.read('second')).toEqual(second.data);
  expect(await weights.read('first')).toEqual(first.data);
  await weights.close();
}

describe('weights are read one tensor at a time', () => {
  it('from a folder with one file, and from the file', async () => {
    const file = join(folder, 'model.safetensors');
    await writeSafetensors(file, [first, second]);
    await expectBoth(folder);
    await expectBoth(file);
  });

  it('of the text part of a model that sees, by the names that they have in a model of text', async () => {
    await writeSafetensors(join(folder, 'model.safetensors'), [
      { ...first, name: 'language_model.first' },
      { ...second, name: 'language_model.second' },
      { ...second, name: 'vision_tower.second' },
    ]);
    await expectBoth(folder);
  });

  it('from a folder with shards, as bfloat16', async () => {
    await writeSafetensors(join(folder, 'a.safetensors'), [first], { type: 'BF16' });
    await writeSafetensors(join(folder, 'b.safetensors'), [second], { type: 'BF16' });
    const index = { weight_map: { first: 'a.safetensors', second: 'b.safetensors' } };
    await writeFile(join(folder, 'model.safetensors.index.json'), JSON.stringify(index));
    await expectBoth(folder);
  });

  it('from a GGUF file, under the names of Hugging Face', async () => {
    const file = fileURLToPath(new URL('../../test/fixtures/llama/model.gguf', import.meta.url));
    const weights = await openWeights(file);
    expect(weights.tensors.get('model.norm.weight')).toEqual({ shape: [32] });
    expect(await weights.read('model.norm.weight')).toHaveLength(32);
    await weights.close();
  });

  it('from a GGUF file in parts, but a tensor whose rows are reordered at once', async () => {
    const file = fileURLToPath(new URL('../../test/fixtures/llama/model.gguf', import.meta.url));
    const weights = await openWeights(file);
    const partsOf = async (matrix: string): Promise<number[][]> => {
      const parts: number[][] = [];
      for await (const part of weights.readParts(nameOf(matrix), 512)) parts.push([...part]);
      return parts;
    };
    const nameOf = (matrix: string): string => `model.layers.0.self_attn.${matrix}.weight`;
    const query = await weights.read(nameOf('q_proj'));
    expect(await partsOf('q_proj')).toEqual([[...query]]);
    const output = await weights.read(nameOf('o_proj'));
    expect(await partsOf('o_proj')).toEqual([[...output.slice(0, 512)], [...output.slice(512)]]);
    await weights.close();
  });

  it('and a tensor that is not there is named', async () => {
    await writeSafetensors(join(folder, 'model.safetensors'), [first]);
    const weights = await openWeights(folder);
    await expect(weights.read('second')).rejects.toThrow(`${folder} holds no tensor second.`);
    await weights.close();
    await expect(openWeights(join(folder, 'other'))).rejects.toBeInstanceOf(CheckpointError);
  });
});
