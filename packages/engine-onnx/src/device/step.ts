/** Measures the time of a training step of a model on CPU and GPU. */
import { systemClock } from '@trinity-rft/core';
import type { Engine, TokenRow } from '@trinity-rft/core/engine';

import type { ModelConfig } from '../model/config.js';
import { parameterCount } from '../model/parameters.js';
import { countUnequal, largestDifference, sampleRows, trainOn, type StepSize } from './one-step.js';
import type { StepTimes } from './report.js';

type OpenOn = (device: 'cpu' | 'webgpu') => Promise<Engine>;

export interface StepOptions {
  readonly config: ModelConfig;
  /** Maximum length of prompt and response together, in tokens. */
  readonly maxModelLen: number;
  readonly size: StepSize;
  readonly report: (line: string) => void;
}

/**
 * Milliseconds that the GPU gets for its start and for compiling kernels, in addition to the time
 * of four CPU steps.
 */
const gpuStartMs = 30_000;

export async function measureStep(open: OpenOn, options: StepOptions): Promise<StepTimes> {
  const { config, report } = options;
  const size = fittingSize(options);
  const weights = new Intl.NumberFormat('en').format(parameterCount(config));
  const model = `${config.family} with ${weights} weights`;
  report(`Measuring a step of ${model} on the CPU: ${describeSize(size)}.`);
  const engine = await open('cpu');
  const cpu = await twoSteps(engine, size);
  await engine.close();
  report('Measuring the same step on the GPU.');
  const limitMs = gpuStartMs + 4 * cpu.ms;
  const work = onGpu(() => open('webgpu'), size, cpu.first.rows);
  const gpu = await unlessLate(work, limitMs);
  if (gpu === undefined)
    return { model, cpuMs: cpu.ms, gpuMs: limitMs, isStopped: true, logprobs: 0, unequal: 0 };
  const logprobs = largestDifference(gpu.scored, cpu.first.scored);
  return { model, cpuMs: cpu.ms, gpuMs: gpu.ms, isStopped: false, logprobs, unequal: gpu.unequal };
}

/** Limits prompt and response each to half of the maximum sequence length. */
function fittingSize({ size, config, maxModelLen }: StepOptions): StepSize {
  const { answers, promptTokens, answerTokens } = size;
  const room = Math.floor(Math.min(maxModelLen, config.maxPositions) / 2);
  return {
    answers,
    promptTokens: Math.max(1, Math.min(promptTokens, room, config.vocabSize - 1)),
    answerTokens: Math.max(1, Math.min(answerTokens, room)),
  };
}

const describeSize = ({ answers, promptTokens, answerTokens }: StepSize): string =>
  `${answers} answers of ${answerTokens} tokens to a prompt of ${promptTokens}`;

interface TwoSteps {
  /**
   * Duration of the faster step in ms. The first step also includes preparations, such as compiling
   * kernels.
   */
  readonly ms: number;
  readonly first: Step;
}

interface Step {
  readonly ms: number;
  readonly rows: readonly TokenRow[];
  readonly sampled: ArrayLike<number>;
  readonly scored: ArrayLike<number>;
}

async function twoSteps(engine: Engine, size: StepSize): Promise<TwoSteps> {
  const first = await oneStep(engine, 0, size);
  const second = await oneStep(engine, 1, size);
  return { ms: Math.min(first.ms, second.ms), first };
}

async function oneStep(engine: Engine, version: number, size: StepSize): Promise<Step> {
  const start = performance.now();
  const { rows, logprobs: sampled } = await sampleRows(engine, version, size);
  const scored = await trainOn(engine, rows);
  return { ms: performance.now() - start, rows, sampled, scored };
}

interface GpuSteps {
  readonly ms: number;
  /** Log-probabilities that the GPU computes for the rows that the CPU sampled. */
  readonly scored: ArrayLike<number>;
  readonly unequal: number;
}

async function onGpu(
  open: () => Promise<Engine>,
  size: StepSize,
  rows: readonly TokenRow[],
): Promise<GpuSteps> {
  const engine = await open();
  const { logprobs: scored } = await engine.trainer.forward({ rows });
  const { ms, first } = await twoSteps(engine, size);
  await engine.close();
  return { ms, scored, unequal: countUnequal(first.sampled, first.scored) };
}

/**
 * Returns the result of `work`, or undefined after `limitMs`. The work then continues until the
 * process ends.
 */
async function unlessLate<T>(work: Promise<T>, limitMs: number): Promise<T | undefined> {
  const timer = new AbortController();
  try {
    const late = systemClock.sleep(limitMs, timer.signal).then(() => undefined);
    return await Promise.race([work, late.catch(() => undefined)]);
  } finally {
    timer.abort();
  }
}
