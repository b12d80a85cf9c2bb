/** Computes the log-probabilities of given tokens with the sampler of a rollout model. */
import { ModelError } from '@trinity-rft/core';
import type { Sampler } from '@trinity-rft/core/engine';
import type { ScoreOptions } from '@trinity-rft/core/internal';
import type { SamplingDefaults } from './sampling.js';

export interface ScoringModel {
  readonly sampler: Sampler;
  /** Name of the model, used in error messages. */
  readonly modelPath: string;
  readonly defaults?: SamplingDefaults;
  /** Signal that aborts every call. */
  readonly signal?: AbortSignal;
}

export interface ScoredTokens {
  readonly tokens: ArrayLike<number>;
  readonly promptLength: number;
}

/**
 * Returns the log-probability of each response token, given the tokens before it. [R]
 * @throws ModelError 400 if prompt or response is empty or the temperature is not above 0, 501 if
 * the engine cannot score
 */
export async function scoreTokens(
  { sampler, modelPath, defaults, signal: modelSignal }: ScoringModel,
  { tokens, promptLength }: ScoredTokens,
  options: ScoreOptions = {},
): Promise<Float32Array> {
  const temperature = options.temperature ?? (defaults?.temperature || 1);
  if (!Number.isInteger(promptLength) || promptLength < 1 || promptLength >= tokens.length) {
    throw new ModelError(
      `logprobs of "${modelPath}" got ${tokens.length} tokens with promptLength ${promptLength}. Expected at least one prompt token and at least one token after the prompt.`,
      { status: 400, code: 'invalid_request' },
    );
  }
  if (!(temperature > 0) || !Number.isFinite(temperature)) {
    throw new ModelError(
      `logprobs of "${modelPath}" got the temperature ${temperature}. Expected a number above 0.`,
      { status: 400, code: 'invalid_request' },
    );
  }
  if (!sampler.score) {
    throw new ModelError(
      `The engine of "${modelPath}" cannot score tokens that it did not sample. Use an engine that can: the embedded engine, or vLLM.`,
      { status: 501, code: 'not_available' },
    );
  }
  const signals = [modelSignal, options.signal].filter((signal) => signal !== undefined);
  const row = { tokens: Int32Array.from(tokens), promptLength, temperature };
  return sampler.score(row, signals.length > 0 ? AbortSignal.any(signals) : undefined);
}
