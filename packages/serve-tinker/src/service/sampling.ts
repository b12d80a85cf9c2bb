/** Samples from any saved weights, with one engine that changes to those that are asked for. */
import type { Engine } from '@trinity-rft/core';
import type { SampledSequence, SamplingOptions } from '@trinity-rft/core/internal';
import { Refusal } from '../refusals/refusal.js';

export interface SampleWork {
  /** Folder of a model; undefined: the base model. */
  readonly weights: string | undefined;
  readonly prompt: Int32Array;
  /** `maxTokens` undefined: as many as there is room for. */
  readonly options: Omit<SamplingOptions, 'maxTokens'> & { readonly maxTokens: number | undefined };
  /** Whether the prompt is scored, too. */
  readonly promptLogprobs: boolean;
}

export interface Samples {
  readonly sequences: readonly SampledSequence[];
  /** Of each prompt token after the first. */
  readonly promptLogprobs: Float32Array | undefined;
}

export interface Sampling {
  sample(work: SampleWork, signal: AbortSignal): Promise<Samples>;
  close(): Promise<void>;
}

/** @param open loads the model, with the first request */
export function createSampling(open: () => Promise<Engine>): Sampling {
  let opened: Promise<Engine> | undefined;
  /** `null`: none for sure. */
  let current: string | undefined | null = null;
  let version = 0;
  let turn: Promise<unknown> = Promise.resolve();
  /** What has begun goes on with its weights while the engine changes to others. */
  const adopt = async (weights: string | undefined): Promise<Engine> => {
    opened ??= open();
    const engine = await opened;
    if (current === weights) return engine;
    current = null;
    await change(engine, weights, version++);
    current = weights;
    return engine;
  };
  return {
    sample: async ({ weights, prompt, options, promptLogprobs }, signal) => {
      signal.throwIfAborted();
      // Begun within the turn, so with the right weights; the turn does not wait for its end.
      const begun = turn.then(async () => {
        const { sampler } = await adopt(weights);
        const { maxTokens = sampler.maxModelLen - prompt.length } = options;
        const sequences = sampler.sample(prompt, { ...options, maxTokens }, signal);
        const scores = promptLogprobs ? scorePrompt(sampler, prompt, signal) : undefined;
        return { result: Promise.all([sequences, scores]) };
      });
      turn = begun.catch(() => undefined);
      const { result } = await begun;
      const [sequences, scores] = await result;
      return { sequences, promptLogprobs: scores };
    },
    close: async () => {
      await turn;
      await (await opened?.catch(() => undefined))?.close();
    },
  };
}

async function change(
  { trainer, sampler }: Engine,
  weights: string | undefined,
  version: number,
): Promise<void> {
  if (weights !== undefined)
    return sampler.adopt({ kind: 'checkpoint', directory: weights }, version);
  // Nobody trains this engine: its weights are those of the base model.
  await trainer.publish(version);
  await sampler.adopt({ kind: 'published' }, version);
}

async function scorePrompt(
  sampler: Engine['sampler'],
  prompt: Int32Array,
  signal: AbortSignal,
): Promise<Float32Array> {
  if (prompt.length < 2) return new Float32Array();
  const row = { tokens: prompt, promptLength: 1, temperature: 1 };
  const scores = await sampler.score?.(row, signal);
  if (scores !== undefined) return scores;
  throw new Refusal(422, 'prompt_logprobs is not possible: the engine does not score text.');
}
