/**
 * Evaluates another model on the evaluation sets of a run, with the run's settings, without
 * changing the run's folder.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { evaluateRun, type Evaluation } from './evaluate-run.js';

type EvaluateModelOptions = Omit<Parameters<typeof evaluateRun>[0], 'checkpoints' | 'other'>;

/**
 * Evaluates a model with the tasks, seeds and settings of a configuration, but with the model's own
 * tokenizer and weights.
 * @param model Hugging Face folder, such as a checkpoint, or GGUF file
 * @throws ConfigError if the configuration does not sample with weights on this machine
 */
export async function evaluateModel(
  model: string,
  options: EvaluateModelOptions,
): Promise<Evaluation> {
  const directory = await mkdtemp(path.join(tmpdir(), 'trinity-eval-'));
  try {
    const other = { model, label: path.basename(path.resolve(model)), directory };
    return await evaluateRun({ ...options, checkpoints: ['base'], other });
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}
