/**
 * Samples from any saved weights with a single engine, which switches to the weights that each
 * request needs.
 */
import {
  readManifest,
  type Engine,
  type EngineCapabilities,
  type SampledSequence,
  type SamplingOptions,
} from '@trinity-rft/core/engine';
import { lazily } from '@trinity-rft/core/support';
import type { TopTokens } from '../../protocol/index.js';
import { Refusal } from '../refusals/refusal.js';

export interface SampleWork {
  /** Folder of the weights to sample from; undefined for the base model. */
  readonly weights: string | undefined;
  readonly prompt: Int32Array;
  /** Sampling options. If `maxTokens` is undefined, only the context length limits the sample. */
  readonly options: Omit<SamplingOptions, 'maxTokens'> & { readonly maxTokens: number | undefined };
  /** True to return the log-probabilities of the prompt's tokens. */
  readonly promptLogprobs: boolean;
  /** Number of most likely tokens to return for each position of the prompt. */
  readonly topPromptLogprobs: number;
}

export interface Samples {
  readonly sequences: readonly SampledSequence[];
  /** Log-probability of each prompt token. NaN for the first token. */
  readonly promptLogprobs: Float32Array | undefined;
  /** Most likely tokens at the position of each prompt token; undefined for the first token. */
  readonly topPromptLogprobs: readonly (TopTokens | undefined)[] | undefined;
}

export interface Sampling {
  sample(work: SampleWork, signal: AbortSignal): Promise<Samples>;
  close(): Promise<void>;
}

/**
 * Creates the sampling service.
 * @param open loads the model; called at the first request
 */
export function createSampling(open: () => Promise<Engine>): Sampling {
  const loaded = lazily(open);
  /** The engine's current weights; undefined if unknown. */
  let current: WeightSet | undefined;
  let version = 0;
  let turn: Promise<unknown> = Promise.resolve();
  /** Switches the engine to `weights`. Requests in progress continue with their weights. */
  const adopt = async (weights: string | undefined): Promise<Engine> => {
    const engine = await loaded.get();
    const wanted = await weightSet(weights);
    if (current !== undefined && isSame(wanted, current)) return engine;
    current = undefined;
    await change(engine, weights, version++);
    current = wanted;
    return engine;
  };
  return {
    sample: async (work, signal) => {
      const { weights, prompt, options } = work;
      signal.throwIfAborted();
      // Sampling starts within the turn of the request, so that it uses the adopted weights. The
      // next turn does not wait for the end of sampling.
      const begun = turn.then(async () => {
        const { sampler, capabilities } = await adopt(weights);
        assertPossible(work, capabilities);
        const room = sampler.maxModelLen - prompt.length;
        if (room < 1) throw tooLong(prompt, sampler);
        const { maxTokens = room } = options;
        const sequences = sampler.sample(prompt, { ...options, maxTokens }, signal);
        const scores = work.promptLogprobs ? scorePrompt(sampler, prompt, signal) : undefined;
        const top = work.topPromptLogprobs > 0 ? topOfPrompt(sampler, work, signal) : undefined;
        return { result: Promise.all([sequences, scores, top]) };
      });
      turn = begun.catch(() => undefined);
      const { result } = await begun;
      const [sequences, promptLogprobs, topPromptLogprobs] = await result;
      return { sequences, promptLogprobs, topPromptLogprobs };
    },
    close: async () => {
      await turn;
      await (await loaded.opened())?.close();
    },
  };
}

interface WeightSet {
  /** Folder of the weights. Undefined for the base model. */
  readonly directory: string | undefined;
  /**
   * Digest in the manifest of the folder. Undefined for the base model and for folders without a
   * manifest.
   */
  readonly digest: string | undefined;
}

/**
 * Returns a folder and its current digest. The digest is read again each time, because other
 * weights can be saved under the same name.
 */
const weightSet = async (directory: string | undefined): Promise<WeightSet> => ({
  directory,
  digest: directory === undefined ? undefined : (await readManifest(directory))?.sha256,
});

/**
 * Returns true if the engine already uses the weights that a request needs. If their folder has no
 * manifest, only the folder paths are compared. Such a folder is a snapshot, which is never
 * rewritten, or is being replaced, or was deleted.
 */
const isSame = (wanted: WeightSet, current: WeightSet): boolean =>
  wanted.directory === current.directory &&
  (wanted.digest === undefined || wanted.digest === current.digest);

async function change(
  { trainer, sampler }: Engine,
  weights: string | undefined,
  version: number,
): Promise<void> {
  if (weights !== undefined)
    return sampler.adopt({ kind: 'checkpoint', directory: weights }, version);
  // This engine is not trained, so its weights are those of the base model.
  await trainer.publish(version);
  await sampler.adopt({ kind: 'published' }, version);
}

function assertPossible(
  { options, topPromptLogprobs }: SampleWork,
  { samplingControls }: EngineCapabilities,
): void {
  if (samplingControls || Math.max(options.topLogprobs ?? 0, topPromptLogprobs) === 0) return;
  throw new Refusal(
    422,
    'topk_sample_logprobs and topk_prompt_logprobs are not possible: the engine reports no alternatives.',
  );
}

/** Creates the error for a prompt that is too long. */
const tooLong = ({ length }: Int32Array, { maxModelLen }: Engine['sampler']): Refusal =>
  new Refusal(
    400,
    `The prompt has ${length} tokens; prompt and answer together may have ${maxModelLen}. Send fewer.`,
  );

async function scorePrompt(
  sampler: Engine['sampler'],
  prompt: Int32Array,
  signal: AbortSignal,
): Promise<Float32Array> {
  if (prompt.length < 2) return Float32Array.of(NaN);
  const row = { tokens: prompt, promptLength: 1, temperature: 1 };
  const scores = await sampler.score?.(row, signal);
  if (scores !== undefined) return Float32Array.of(NaN, ...scores);
  throw new Refusal(422, 'prompt_logprobs is not possible: the engine does not score text.');
}

/**
 * Returns the most likely tokens at each position of the prompt. For each position, samples one
 * token as a continuation of the tokens before it.
 */
async function topOfPrompt(
  sampler: Engine['sampler'],
  { prompt, topPromptLogprobs: topLogprobs }: SampleWork,
  signal: AbortSignal,
): Promise<readonly (TopTokens | undefined)[]> {
  const options = { maxTokens: 1, seed: 0, topLogprobs };
  const later = Array.from({ length: prompt.length - 1 }, async (_, i) => {
    const [sample] = await sampler.sample(prompt.subarray(0, i + 1), options, signal);
    return sample?.topLogprobs?.[0];
  });
  return [undefined, ...(await Promise.all(later))];
}
