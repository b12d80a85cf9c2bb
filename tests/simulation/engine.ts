/**
 * Engine and agents of a simulation: a small exact model whose every weight depends on the order of training, so that
 * wrong, repeated or forgotten training changes its digest.
 */
import { createHash } from 'node:crypto';
import type { Experience } from '../../packages/core/src/index.ts';
import type { Engine } from '../../packages/core/src/engine-seam.ts';
import { fakeEngine } from '../../packages/testing/src/index.ts';
import type { Process } from './kernel.ts';

const vocabSize = 6;

export const openModel = (): ReturnType<typeof fakeEngine> =>
  fakeEngine({ vocabSize, seed: 7, maxModelLen: 64 });

/** Weights of each version, as the trainer made them. */
export interface Truth {
  /** Creates an engine whose train steps are remembered. */
  watch(process: Process): Engine & Pick<ReturnType<typeof fakeEngine>, 'weights'>;
  /**
   * Records that the store has accepted train step `version` of this process. Returns a violation
   * if the process did not make the step, or if an earlier one gave other weights.
   */
  settle(caller: string, version: number): string | undefined;
  /** Reason why these weights cannot have sampled the experience; undefined if they can. */
  sampledBy(experience: Experience, version: number): string | undefined;
  digest(version: number): string | undefined;
}

export function createTruth(): Truth {
  const settled = new Map<number, Float64Array>([[0, openModel().weights()]]);
  /** Weights by `<process> <version>` that are not recorded in the store yet. */
  const made = new Map<string, Float64Array>();
  return {
    watch: (process) => {
      const engine = openModel();
      const { trainer } = engine;
      const step: typeof trainer.step = async (options) => {
        const stats = await trainer.step(options);
        made.set(`${process.name} ${stats.step}`, engine.weights());
        return stats;
      };
      return { ...engine, trainer: { ...trainer, step } };
    },
    settle: (caller, version) => {
      const weights = made.get(`${caller} ${version}`);
      if (!weights) return `${caller} recorded train step ${version} without making it`;
      const earlier = settled.get(version);
      if (earlier && digestOf(earlier) !== digestOf(weights))
        return `train step ${version} was made again and gave other weights`;
      settled.set(version, weights);
      return undefined;
    },
    sampledBy: (experience, version) => {
      const weights = settled.get(version);
      return weights
        ? differenceTo(weights, experience, version)
        : `version ${version} was never made`;
    },
    digest: (version) => {
      const weights = settled.get(version);
      return weights && digestOf(weights);
    },
  };
}

export const digestOf = (weights: Float64Array): string =>
  createHash('sha256').update(new Uint8Array(weights.buffer)).digest('hex').slice(0, 16);

function differenceTo(
  weights: Float64Array,
  { tokens, promptLength, logprobs }: Experience,
  version: number,
): string | undefined {
  for (const [index, said] of logprobs.entries()) {
    const position = promptLength + index;
    const row = tokens[position - 1]! * vocabSize;
    const logits = weights.subarray(row, row + vocabSize);
    const sum = logits.reduce((total, logit) => total + Math.exp(logit), 0);
    const logprob = logits[tokens[position]!]! - Math.log(sum);
    if (Math.abs(logprob - said) > 1e-5)
      return `version ${version} gives token ${index} the log-probability ${logprob}, not ${said}`;
  }
  return undefined;
}
