/** Compares adapters with PEFT, transformers and torch; the fixture comes from tools/fixtures/peft_adapter.py. */
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { afterEach, beforeEach, describe, expect, test } from 'vitest';

import { loadModelFolder } from '../src/storage/model-folder.js';
import { writeSafetensors, type NamedTensor } from '../src/storage/safetensors.js';
import type { BaseModel } from '../src/lora/base-model.js';
import { openAdapters } from '../src/lora/open.js';
import { loadAdapters, saveAdapters } from '../src/lora/peft-folder.js';
import { WeightBuffers } from '../src/model/weights.js';
import { globalNorm } from '../src/runtime/onnx-runtime.js';
import { clipScale } from '../src/train/adamw.js';
import { OnnxTrainer } from '../src/train/trainer.js';
import { distance, largest, readBatch, readTensors } from './support/fixtures.js';
import { cpu, flatOf } from './support/runtime.js';

const base = fileURLToPath(new URL('fixtures/qwen3', import.meta.url));
const peft = fileURLToPath(new URL('fixtures/peft-qwen3', import.meta.url));

/** PEFT writes no record of the base, so no digest is computed. */
const unrecorded: BaseModel = {
  digest: () => {
    throw new Error('The base was hashed.');
  },
};

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'peft-'));
});
afterEach(() => rm(folder, { recursive: true }));

describe('an adapter of PEFT', () => {
  test('scores, learns and steps as there', async () => {
    const { config, weights } = await loadModelFolder(base);
    const expected = await readTensors(join(peft, 'expected.safetensors'));
    const numbers = (name: string): Float32Array => expected.get(name)!.data;
    const { batch, optimizer } = await readBatch(base);
    const buffers = new WeightBuffers(cpu(), config, weights);
    const adapters = await openAdapters({
      config,
      weights: buffers,
      lora: { path: peft },
    });
    const trainer = new OnnxTrainer({ config, weights: buffers, trainable: adapters });

    const pass = await trainer.forward(batch, { entropy: true });
    expect(distance(pass.logprobs, numbers('logprobs'))).toBeLessThan(1e-5);
    expect(distance(pass.entropy!, numbers('entropy'))).toBeLessThan(1e-5);
    await trainer.backward(pass, {
      logprobs: numbers('grad_logprobs'),
      entropy: numbers('grad_entropy'),
    });
    const errors = adapters.specs.map(({ name, offset, size }) => {
      const wanted = numbers(`grad.${name}`);
      return {
        name,
        error:
          distance(flatOf(trainer.gradient!).subarray(offset, offset + size), wanted) /
          largest(wanted),
      };
    });
    expect(errors.filter(({ error }) => !(error < 1e-4))).toEqual([]);

    const gradient = Float32Array.from(
      adapters.specs.flatMap(({ name }) => [...numbers(`grad.${name}`)]),
    );
    const gradientScale = clipScale(globalNorm(gradient), optimizer.clipGradNorm);
    const set = buffers.runtime.set(adapters.specs, gradient);
    const moments = () => buffers.runtime.set(adapters.specs);
    const state = { step: 0, first: moments(), second: moments() };
    for (let i = 0; i < optimizer.steps; i++)
      await adapters.update({ set, take: () => set }, state, {
        ...optimizer,
        gradientScale,
      });
    const stepped = adapters.specs.map(({ name, offset, size }) => ({
      name,
      error: distance(
        flatOf(adapters.set).subarray(offset, offset + size),
        numbers(`stepped.${name}`),
      ),
    }));
    expect(stepped.filter(({ error }) => !(error < 1e-6))).toEqual([]);
    expect(
      distance((await trainer.forward(batch)).logprobs, numbers('stepped_logprobs')),
    ).toBeLessThan(1e-5);
    await trainer.close();
    await adapters.close();
  });

  test('is written with the names, shapes and numbers it was read with', async () => {
    const { config } = await loadModelFolder(base);
    const state = await loadAdapters(peft, config, unrecorded);
    expect(state.plan).toEqual({
      rank: 4,
      alpha: 6,
      modules: ['q_proj', 'k_proj', 'v_proj', 'o_proj', 'down_proj'],
    });
    await saveAdapters(folder, { ...state, config, baseModel: base });
    const [written, original] = [
      await readTensors(join(folder, 'adapter_model.safetensors')),
      await readTensors(join(peft, 'adapter_model.safetensors')),
    ];
    const sorted = (tensors: ReadonlyMap<string, NamedTensor>) =>
      [...tensors.values()].toSorted((a, b) => a.name.localeCompare(b.name));
    expect(sorted(written)).toEqual(sorted(original));
    const mine = JSON.parse(await readFile(join(folder, 'adapter_config.json'), 'utf8')) as Record<
      string,
      unknown
    >;
    const theirs = JSON.parse(await readFile(join(peft, 'adapter_config.json'), 'utf8')) as Record<
      string,
      unknown
    >;
    const own = { base_model_name_or_path: base, target_modules: state.plan.modules };
    expect(mine).toEqual({
      ...Object.fromEntries(Object.keys(mine).map((key) => [key, theirs[key]])),
      ...own,
    });
    expect(await loadAdapters(folder, config, unrecorded)).toEqual(state);
  });
});

describe('a folder that is no adapter of the model is rejected', () => {
  const change = async (
    edit: (config: Record<string, unknown>) => Record<string, unknown>,
  ): Promise<void> => {
    await cp(peft, folder, { recursive: true });
    const path = join(folder, 'adapter_config.json');
    await writeFile(
      path,
      JSON.stringify(edit(JSON.parse(await readFile(path, 'utf8')) as Record<string, unknown>)),
    );
  };
  const load = async (): Promise<unknown> =>
    loadAdapters(folder, (await loadModelFolder(base)).config, unrecorded);

  test.each<[object, string]>([
    [{ use_dora: true }, 'use_dora is true; expected false. Merge the adapter'],
    [
      { use_rslora: true },
      'use_rslora is true; expected false. Set it to false and multiply lora_alpha by',
    ],
    [{ bias: 'all' }, 'bias is "all"; expected "none". Merge'],
    [{ peft_type: 'IA3' }, 'peft_type is "IA3"; expected "LORA"'],
    [{ rank_pattern: { q_proj: 8 } }, 'rank_pattern is {"q_proj":8}'],
    [{ modules_to_save: ['lm_head'] }, 'modules_to_save is ["lm_head"]'],
    [{ layers_to_transform: 1 }, 'layers_to_transform is 1'],
    [{ alora_invocation_tokens: [5, 6] }, 'alora_invocation_tokens is [5,6]'],
    [{ kasa_config: { beta: 1 } }, 'kasa_config is {"beta":1}'],
    ...['pissa', 'pissa_niter_4', 'olora', 'corda', 'loftq', 'lora_ga', 'later'].map(
      (init): [object, string] => [
        { init_lora_weights: init },
        `init_lora_weights is "${init}"; expected true, false, "gaussian", "eva", "orthogonal", "mica".`,
      ],
    ),
    [{ r: 0 }, 'is not the config of a LoRA adapter'],
    [
      { r: 5 },
      'q_proj.lora_A.weight has shape [4, 32], but the model and the rank ask for [5, 32]',
    ],
  ])('%j', async (keys, message) => {
    await change((config) => ({ ...config, ...keys }));
    await expect(load()).rejects.toThrow(message);
  });

  test.each([true, false, undefined, null, 'gaussian', 'eva', 'orthogonal', 'mica'])(
    'but not one whose initialisation kept the base: %s',
    async (init) => {
      await change((config) => ({ ...config, init_lora_weights: init }));
      await expect(load()).resolves.toMatchObject({ plan: { rank: 4, alpha: 6 } });
    },
  );

  test.each([
    [
      'of another model',
      (all: NamedTensor[]) => [
        { ...all[0]!, name: 'base_model.model.model.layers.2.self_attn.q_proj.lora_A.weight' },
        ...all,
      ],
      'layers.2.self_attn.q_proj.lora_A.weight has no place in the model',
    ],
    [
      'with a layer left out',
      (all: NamedTensor[]) => all.filter(({ name }) => !name.includes('layers.1.self_attn.v_proj')),
      'layers.1.self_attn.v_proj.lora_A.weight of shape [4, 32] is missing',
    ],
    ['without layers', () => [], 'it holds no adapter'],
  ])('matrices %s', async (_, edit, message) => {
    await cp(peft, folder, { recursive: true });
    const path = join(folder, 'adapter_model.safetensors');
    await writeSafetensors(path, edit([...(await readTensors(path)).values()]));
    await expect(load()).rejects.toThrow(message);
  });

  test('a config with a byte order mark', async () => {
    await cp(peft, folder, { recursive: true });
    const path = join(folder, 'adapter_config.json');
    await writeFile(path, `\uFEFF${await readFile(path, 'utf8')}`);
    await expect(load()).rejects.toThrow('adapter_config.json begins with a byte order mark');
  });

  test('one that is not there', async () => {
    await expect(load()).rejects.toThrow(
      'adapter_config.json cannot be read; expected a folder with an adapter as PEFT writes it',
    );
    await cp(peft, folder, { recursive: true });
    await rm(join(folder, 'adapter_model.safetensors'));
    await expect(load()).rejects.toThrow(
      'the file does not exist; save the adapter as safetensors',
    );
  });
});
