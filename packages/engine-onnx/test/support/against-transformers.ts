/** Compares the engine with the results that tools/fixtures/transformers_models.py wrote to a folder. */
import { parameterSpecs } from '../../src/model/parameters.js';
import { WeightBuffers } from '../../src/model/weights.js';
import { loadModelFolder } from '../../src/storage/model-folder.js';
import { OnnxTrainer } from '../../src/train/trainer.js';
import { distance, largest, readBatch, readTensors } from './fixtures.js';
import { cpu, flatOf } from './runtime.js';

export interface Differences {
  /** Largest absolute differences. */
  readonly logprobs: number;
  readonly entropy: number;
  /** Largest difference of an entry, divided by the largest entry of its tensor, over all tensors. */
  readonly gradient: number;
  /** Tensor with the largest gradient difference. */
  readonly parameter: string;
}

export async function differencesFrom(folder: string): Promise<Differences> {
  const { config, weights } = await loadModelFolder(folder);
  const { batch } = await readBatch(folder);
  const stored = await readTensors(`${folder}/expected.safetensors`);
  const expected = (name: string): Float32Array => stored.get(name)?.data ?? Float32Array.of(NaN);
  const buffers = new WeightBuffers(cpu(), config, weights);
  const trainer = new OnnxTrainer({ config, weights: buffers });
  const pass = await trainer.forward(batch, { entropy: true });
  await trainer.backward(pass, {
    logprobs: expected('grad_logprobs'),
    entropy: expected('grad_entropy'),
  });
  const found = flatOf(trainer.gradient!);
  const errors = parameterSpecs(config).map(({ name, offset, size }) => {
    const wanted = expected(`grad.${name}`);
    const error = distance(found.subarray(offset, offset + size), wanted) / (largest(wanted) || 1);
    return { name, error };
  });
  const worst = errors.reduce((a, b) => (a.error > b.error ? a : b));
  await trainer.close();
  return {
    logprobs: distance(pass.logprobs, expected('logprobs')),
    entropy: distance(pass.entropy ?? new Float32Array(), expected('entropy')),
    gradient: worst.error,
    parameter: worst.name,
  };
}
