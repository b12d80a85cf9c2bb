/**
 * Compares the critic with Hugging Face transformers and torch; the fixture comes from
 * tools/fixtures/transformers_critic.py.
 */
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { parameterSpecs } from '../src/model/parameters.js';
import { WeightBuffers } from '../src/model/weights.js';
import { openCriticFolder } from '../src/critic/critic-folder.js';
import { ValueTrainer } from '../src/critic/value-trainer.js';
import { distance, largest, readBatch, readTensors } from './support/fixtures.js';
import { cpu, flatOf } from './support/runtime.js';

const fixture = (name: string): string =>
  fileURLToPath(new URL(`fixtures/${name}/`, import.meta.url));
const folder = fixture('critic');
test('values and gradients of a critic equal those of transformers and torch', async () => {
  const { config, configText, weights } = await openCriticFolder(folder);
  const { batch } = await readBatch(fixture('qwen3'));
  const expected = await readTensors(`${folder}expected.safetensors`);
  const trainer = new ValueTrainer({
    config,
    weights: new WeightBuffers(cpu(), config, weights),
  });
  const pass = await trainer.forward(batch);
  expect(distance(pass.values, expected.get('values')!.data)).toBeLessThan(1e-5);
  await trainer.backward(pass, expected.get('grad_values')!.data);
  const gradient = flatOf(trainer.gradient!);
  const compared = parameterSpecs(config).filter(({ name }) => expected.has(`grad.${name}`));
  const errors = compared.map(({ name, offset, size }) => {
    const wanted = expected.get(`grad.${name}`)!.data;
    return {
      name,
      error: distance(gradient.subarray(offset, offset + size), wanted) / largest(wanted),
    };
  });
  expect(errors.map(({ name }) => name)).toContain('score.bias');
  expect(errors.filter(({ error }) => !(error < 1e-4))).toEqual([]);
  expect(JSON.parse(configText)).toEqual(
    JSON.parse(await readFile(`${folder}config.json`, 'utf8')),
  );
  await trainer.close();
});
