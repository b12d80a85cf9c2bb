import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { CheckpointError } from '@trinity-rft/core';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { loadCheckpoint, saveCheckpoint } from '../storage/checkpoint.js';
import { loadModelFolder, saveModelFolder, type ModelFolder } from '../storage/model-folder.js';
import { writeSafetensors, type NamedTensor } from '../storage/safetensors.js';
import { parameterSpecs } from '../model/parameters.js';
import { criticConfigText, openCriticFolder } from './critic-folder.js';

const families = ['qwen3', 'qwen2', 'llama'] as const;
const fixture = (family: string): string =>
  fileURLToPath(new URL(`../../test/fixtures/${family}/`, import.meta.url));
let folder: string;
beforeEach(async () => void (folder = await mkdtemp(join(tmpdir(), 'critic-folder-'))));
afterEach(() => rm(folder, { recursive: true, force: true }));

const tensorsOf = ({ config, weights }: ModelFolder): NamedTensor[] =>
  parameterSpecs(config).map(({ name, shape, offset, size }) => ({
    name,
    shape,
    data: weights.subarray(offset, offset + size),
  }));

/** A critic whose tensors went through `change`. */
async function changed(change: (tensors: NamedTensor[]) => NamedTensor[]): Promise<string> {
  const critic = await openCriticFolder(fixture('qwen3'));
  critic.weights.fill(0.5, -5);
  await saveModelFolder(folder, critic, critic.weights);
  await writeSafetensors(join(folder, 'model.safetensors'), change(tensorsOf(critic)));
  return folder;
}

describe('a language model as a critic', () => {
  it.each(families)('has its body and a head of zeros: %s', async (family) => {
    const [model, critic] = [
      await loadModelFolder(fixture(family)),
      await openCriticFolder(fixture(family)),
    ];
    const body = parameterSpecs(critic.config).find(({ name }) => name === 'score.weight')!.offset;
    expect(critic.weights.subarray(0, body)).toEqual(model.weights.subarray(0, body));
    expect(critic.weights.subarray(body)).toEqual(new Float32Array(model.config.hiddenSize + 1));
  });

  it.each(families)(
    'is saved as the token classification of one label that transformers reads: %s',
    async (family) => {
      const critic = await openCriticFolder(fixture(family));
      await saveModelFolder(folder, critic, critic.weights);
      const saved = JSON.parse(await readFile(join(folder, 'config.json'), 'utf8')) as Record<
        string,
        unknown
      >;
      const before = JSON.parse(
        await readFile(join(fixture(family), 'config.json'), 'utf8'),
      ) as Record<string, unknown>;
      const name = family[0]!.toUpperCase() + family.slice(1);
      const own = {
        architectures: [`${name}ForTokenClassification`],
        id2label: { 0: 'LABEL_0' },
        label2id: { LABEL_0: 0 },
        classifier_dropout: 0,
      };
      expect(saved).toEqual({ ...before, ...own });
      expect(await openCriticFolder(folder)).toEqual(critic);
    },
  );

  // As in transformers 5.24, where no other class of these families reads the body.
  it.each([
    ['gemma2', 'Gemma2ForTokenClassification'],
    ['gemma3_text', 'Gemma3TextModel'],
    ['gemma4_text', 'Gemma4TextModel'],
    ['olmo2', 'Olmo2Model'],
    ['olmo3', 'Olmo3Model'],
    ['lfm2', 'Lfm2Model'],
    ['qwen3_5_text', 'Qwen3_5TextModel'],
    ['granite', 'GraniteModel'],
    ['granitemoehybrid', 'GraniteMoeHybridModel'],
  ])('names a class that transformers has: %s', async (family, name) => {
    const { configText } = await openCriticFolder(fixture(family));
    expect(JSON.parse(configText)).toMatchObject({ architectures: [name] });
  });

  it('opens as a language model no more', async () => {
    const critic = await openCriticFolder(fixture('qwen3'));
    await saveModelFolder(folder, critic, critic.weights);
    await expect(loadModelFolder(folder)).rejects.toThrow('tensor score.weight of shape [1,');
  });
});

describe('a checkpoint of a critic', () => {
  it('keeps its head, to the last bit', async () => {
    const critic = await openCriticFolder(fixture('qwen3'));
    const weights = critic.weights.map((x, i) => x + Math.sin(i));
    const optimizer = {
      step: 3,
      first: weights.map((x) => x / 2),
      second: weights.map((x) => x * x),
    };
    await saveCheckpoint(folder, critic, weights, optimizer);
    expect(await loadCheckpoint(folder, critic.config)).toEqual({ weights, optimizer });
    expect((await openCriticFolder(folder)).weights).toEqual(weights);
  });

  it('of a language model is rejected, because its head is not there', async () => {
    const { config } = await openCriticFolder(fixture('qwen3'));
    const loading = loadCheckpoint(fixture('qwen3'), config);
    await expect(loading).rejects.toBeInstanceOf(CheckpointError);
    await expect(loading).rejects.toThrow('tensor score.weight of shape [1,');
  });
});

describe('a model with a head of one label', () => {
  it('keeps it, also where it has no bias, as reward models have none', async () => {
    const critic = await openCriticFolder(
      await changed((tensors) => tensors.filter(({ name }) => name !== 'score.bias')),
    );
    expect([...critic.weights.subarray(-5)]).toEqual([0.5, 0.5, 0.5, 0.5, 0]);
  });

  it('may bring the head over tokens along', async () => {
    const critic = await openCriticFolder(
      await changed((tensors) => [
        ...tensors,
        { name: 'lm_head.weight', shape: [1, 2], data: Float32Array.of(1, 2) },
      ]),
    );
    expect(critic.weights.at(-1)).toBe(0.5);
  });

  it('is rejected when it has more labels', async () => {
    const directory = await changed((tensors) =>
      tensors.map((tensor) =>
        tensor.name === 'score.bias'
          ? { name: 'score.bias', shape: [2], data: Float32Array.of(1, 2) }
          : tensor,
      ),
    );
    await expect(openCriticFolder(directory)).rejects.toThrow('tensor score.bias in ');
  });
});

it('the config of a critic changes four keys and leaves every other character', () => {
  const text =
    '{\n  "rms_norm_eps": 1e-06,\n  "architectures": [\n    "X"\n  ],\n  "rope_theta": 10000.0,\n  "id2label": { "0": "a", "1": "b" }\n}\n';
  expect(criticConfigText(text, 'qwen2')).toBe(
    '{\n  "classifier_dropout": 0.0,\n  "label2id": { "LABEL_0": 0 },\n  "rms_norm_eps": 1e-06,\n  "architectures": ["Qwen2ForTokenClassification"],\n' +
      '  "rope_theta": 10000.0,\n  "id2label": { "0": "LABEL_0" }\n}\n',
  );
  const twice = criticConfigText(criticConfigText(text, 'qwen2'), 'qwen2');
  expect(twice).toBe(criticConfigText(text, 'qwen2'));
});
