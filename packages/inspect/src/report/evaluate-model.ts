/** A model beside a run: on the evaluation sets of the run, with its settings, without a trace in its folder. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { evaluateRun, type Evaluation } from './evaluate-run.js';

type EvaluateModelOptions = Omit<Parameters<typeof evaluateRun>[0], 'checkpoints' | 'other'>;

/**
 * The tasks, seeds and settings are those of the configuration; tokenizer and weights are those of the model.
 * @param model Hugging Face folder, such as a checkpoint, or GGUF file
 * @throws ConfigError where the configuration does not sample with weights of this machine
 */
export async function evaluateModel(
  model: string,
  options: EvaluateModelOptions,
): Promise<Evaluation> {
  const directory = await mkdtemp(path.join(tmpdir(), 'trinity-eval-'));
  try {
    return await evaluateRun({ ...options, checkpoints: ['base'], other: { model, directory } });
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}
