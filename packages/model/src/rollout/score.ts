/** Log-probabilities of given tokens, by the sampler of a rollout model. */
import { ModelError, type ScoreOptions } from '@trinity-rft/core';
import type { RolloutModelOptions } from '../recording-model.js';

export interface ScoredTokens {
  readonly tokens: ArrayLike<number>;
  readonly promptLength: number;
}

/**
 * One per token after the prompt. [R]
 * @throws ModelError when there is nothing to score, or the engine cannot
 */
export async function scoreTokens(
  {
    sampler,
    modelPath,
    defaults,
    signal: own,
  }: Pick<RolloutModelOptions, 'sampler' | 'modelPath' | 'defaults' | 'signal'>,
  { tokens, promptLength }: ScoredTokens,
  { temperature, signal }: ScoreOptions = {},
): Promise<Float32Array> {
  const scale = temperature ?? (defaults?.temperature || 1);
  if (!Number.isInteger(promptLength) || promptLength < 1 || promptLength >= tokens.length) {
    throw new ModelError(
      `logprobs of "${modelPath}" was given ${tokens.length} tokens, ${promptLength} of them prompt; expected at least one of either.`,
      { status: 400, code: 'invalid_request' },
    );
  }
  if (!(scale > 0) || !Number.isFinite(scale)) {
    throw new ModelError(
      `logprobs of "${modelPath}" was given the temperature ${scale}; expected a number above 0.`,
      {
        status: 400,
        code: 'invalid_request',
      },
    );
  }
  if (!sampler.score) {
    throw new ModelError(
      `The engine of "${modelPath}" cannot score tokens that it has not sampled. Expected one that can: the embedded engine, or vLLM.`,
      { status: 501, code: 'not_available' },
    );
  }
  const signals = [own, signal].filter((one) => one !== undefined);
  const row = { tokens: Int32Array.from(tokens), promptLength, temperature: scale };
  return sampler.score(row, signals.length > 0 ? AbortSignal.any(signals) : undefined);
}
