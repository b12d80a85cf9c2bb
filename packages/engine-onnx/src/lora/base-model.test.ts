/** Tests that adapters with a record of their base are used with this base alone. */
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { cpu } from '../../test/support/runtime.js';
import { convertModel } from '../convert.js';
import { parameterSpecs } from '../model/parameters.js';
import { WeightBuffers } from '../model/weights.js';
import { loadQuantizedBase } from '../quantized/load.js';
import { openMergedWeights } from '../quantized/merged-weights.js';
import { loadModelFolder } from '../storage/model-folder.js';
import { createModelFolder } from '../storage/new-model.js';
import type { BaseModel } from './base-model.js';
import { saveAdapterCheckpoint } from './checkpoint.js';
import { digestOf, digestOfFrozen, packedWeights, plainWeights } from './frozen-weights.js';
import { initialAdapters } from './initial.js';
import { loadModel } from './load-model.js';
import { openAdapters } from './open.js';
import { adapterTargets, planAdapters } from './plan.js';

const root = await mkdtemp(join(tmpdir(), 'base-model-'));
afterAll(() => rm(root, { recursive: true, force: true }));
const at = (name: string): string => join(root, name);
const adapterOf = (name: string): string => join(root, name, 'lora_adapter');

const create = (name: string, seed: number): Promise<unknown> =>
  createModelFolder({
    directory: at(name),
    seed,
    initializerRange: 0.15,
    config: { vocabSize: 32, hiddenSize: 32, layers: 2, heads: 4, kvHeads: 2, maxPositions: 32 },
  });

/** Saves an adapter checkpoint without weights, as a run on the model in the folder `on` does. */
async function save(name: string, on: string, base?: BaseModel): Promise<void> {
  const { weights, ...files } = await loadModel(at(on));
  const { config } = files;
  const plan = planAdapters(config, { rank: 2, alpha: 4 });
  const flat = initialAdapters(adapterTargets(config, plan), 1).map((x) => x + 0.01);
  const digest = () => digestOf(parameterSpecs(config).map(plainWeights(weights, {}).part));
  await saveAdapterCheckpoint(at(name), {
    ...{ files, plan, flat, modelPath: at(on), weights: undefined, optimizer: undefined },
    base: base ?? { digest },
  });
}

beforeAll(async () => {
  await create('model', 3);
  await create('other', 4);
  await save('lower', 'model');
  await save('upper', 'lower');
  const { config } = await loadModelFolder(at('model'));
  const quantized = await loadQuantizedBase(at('model'), config, 'int8');
  await save('int8', 'model', { quantization: 'int8', digest: () => quantized.digest() });
  for (const name of ['lower', 'upper']) {
    await cp(at(name), at(`moved ${name}`), { recursive: true });
    const file = join(adapterOf(`moved ${name}`), 'adapter_config.json');
    const text = await readFile(file, 'utf8');
    await writeFile(file, text.replace(/(base_model_name_or_path": ")[^"]*/, `$1${at('other')}`));
  }
});

it('a digest lets the thread do other work, and does not depend on how the weights are kept', async () => {
  const flat = new Float32Array(2 ** 22).map((_, i) => i % 128);
  let [turns, isOver] = [0, false];
  const turn = (): void => {
    turns++;
    if (!isOver) setImmediate(turn);
  };
  turn();
  const whole = await digestOf([flat]);
  isOver = true;
  expect(turns).toBeGreaterThan(3);
  for (const weights of [plainWeights(flat, {}), packedWeights(flat)!])
    expect(await digestOfFrozen(weights, flat.length)).toBe(whole);
});

it('a digest takes arrays of more than 2 GiB', { tags: ['slow'] }, async () => {
  const digest = await digestOf([new Float32Array(2 ** 29 + 1)]);
  expect(digest).toHaveLength(64);
});

async function readMerged(name: string): Promise<readonly (readonly [string, Float32Array])[]> {
  const { tensors, read, close } = await openMergedWeights(at(name));
  try {
    const names = [...tensors.keys()].toSorted();
    return await Promise.all(names.map(async (each) => [each, await read(each)] as const));
  } finally {
    await close();
  }
}

async function open(name: string, path: string): Promise<void> {
  const { config, weights: flat } = await loadModel(at(name));
  const weights = new WeightBuffers(cpu(), config, flat);
  await (await openAdapters({ config, weights, lora: { path } })).close();
}

let folders = 0;
const merge = (from: string, adapter?: string): Promise<unknown> =>
  convertModel({ from: at(from), to: at(`merged ${folders++}`), adapter });

describe('an adapter with a record of its base', () => {
  it('is merged with this base, also if the base has an adapter, too', async () => {
    for (const name of ['lower', 'upper']) {
      const { config, weights } = await loadModel(at(name));
      const expected = parameterSpecs(config).map(
        ({ name: each, offset, size }) => [each, weights.slice(offset, offset + size)] as const,
      );
      expect(new Map(await readMerged(name))).toEqual(new Map(expected));
    }
    await merge('model', adapterOf('lower'));
    await open('lower', adapterOf('upper'));
  });

  it('that is another model names the way on', async () => {
    const file = join(adapterOf('lower'), 'base_model.json');
    await expect(merge('other', adapterOf('lower'))).rejects.toThrow(
      `Name that model, or remove ${file} to use the adapter on this one all the same.`,
    );
  });

  it.each<[string, () => Promise<unknown>]>([
    ['a checkpoint whose base was replaced', () => loadModel(at('moved lower'))],
    ['such a checkpoint, tensor by tensor', () => readMerged('moved lower')],
    ['one whose lower adapter is missing', () => loadModel(at('moved upper'))],
    ['such a checkpoint, too', () => readMerged('moved upper')],
    ['a conversion of another model', () => merge('other', adapterOf('lower'))],
    ['a conversion that has merged it already', () => merge('lower', adapterOf('lower'))],
    ['a run on another model', () => open('other', adapterOf('lower'))],
    ['a run on its own checkpoint', () => open('lower', adapterOf('lower'))],
    ['a run on weights that are not quantised', () => open('model', adapterOf('int8'))],
  ])('is refused by %s', async (_, use) => {
    await expect(use()).rejects.toMatchObject({ code: 'CHECKPOINT_OTHER_ADAPTERS' });
  });

  it('is not merged if the base was quantised', async () => {
    await expect(merge('model', adapterOf('int8'))).rejects.toMatchObject({
      code: 'ADAPTER_BESIDE_QUANTIZED',
    });
  });

  it('is merged with any base once the record is removed', async () => {
    await cp(adapterOf('lower'), at('plain'), { recursive: true });
    await rm(join(at('plain'), 'base_model.json'));
    await expect(merge('other', at('plain'))).resolves.toMatchObject({});
  });
});
