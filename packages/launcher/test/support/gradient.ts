/** Computes the gradient of a train step from the weights before and after the step. */
import path from 'node:path';
import type { Experience, Metrics } from '@trinity-rft/core';
import type { Engine, ValueEngine } from '@trinity-rft/core/engine';
import type { Algorithm } from '@trinity-rft/core/internal';
import { loadModelFolder } from '@trinity-rft/engine-onnx';
import { testRuntime } from '@trinity-rft/testing';
import { trainStep } from '@trinity-rft/trainer';

/**
 * Settings of AdamW. Because epsilon is much larger than the gradient, the update is proportional
 * to the gradient. The factor preserves the digits of small gradients.
 */
const [epsilon, factor] = [1e8, 1e4];
const optimizer = { learningRate: factor * epsilon, epsilon, weightDecay: 0, clipGradNorm: 0 };

export interface GradientOptions {
  readonly engine: Engine;
  readonly critic?: ValueEngine;
  /** Folder of the weights that the step starts from. */
  readonly modelPath: string;
  /** Folder for files that the step writes. */
  readonly directory: string;
  readonly algorithm: Algorithm;
  readonly experiences: readonly Experience[];
}

export async function gradientOf(options: GradientOptions): Promise<{
  readonly metrics: Metrics;
  readonly gradient: Float32Array;
  readonly stats: Metrics;
}> {
  const { engine, critic, modelPath, directory, algorithm, experiences } = options;
  await engine.trainer.load(modelPath);
  await engine.trainer.stats();
  const lease = {
    experiences,
    metrics: {},
    acknowledge: async () => undefined,
    release: async () => undefined,
  };
  const { metrics } = await trainStep(lease, {
    engine: engine.trainer,
    ...(critic && { critic: { engine: critic, optimizer: { learningRate: 0 } } }),
    algorithm,
    optimizer,
    step: 1,
    clock: testRuntime().clock,
  });
  await engine.trainer.save(path.join(directory, 'trained'), { optimizer: false });
  const folders = [modelPath, path.join(directory, 'trained')];
  const [before, after] = await Promise.all(
    folders.map(async (folder) => (await loadModelFolder(folder)).weights),
  );
  return {
    metrics,
    gradient: before!.map((weight, i) => (weight - after![i]!) / factor),
    stats: await engine.trainer.stats(),
  };
}

export const norm = (values: Float32Array): number =>
  Math.sqrt(values.reduce((sum, value) => sum + value * value, 0));

/** Returns |a - b| / |a|. */
export const difference = (a: Float32Array, b: Float32Array): number =>
  norm(a.map((value, i) => value - b[i]!)) / norm(a);
