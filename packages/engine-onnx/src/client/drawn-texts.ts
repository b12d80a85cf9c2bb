import { hash } from 'node:crypto';

import type { SampledSequence, SamplingOptions } from '@trinity-rft/core/engine';

/**
 * Maximum number of sequences that are tracked, each of which takes 250 bytes. Engines that are
 * never trained would otherwise track every sequence.
 */
const maxTexts = 2 ** 16;

/**
 * Tracks the sequences that were sampled from the current training weights. The caller must report
 * every sample and every change of weights, in order.
 */
export class DrawnTexts {
  /** True if the last published weights are the training weights. */
  #arePublished = false;
  /**
   * Policy version of the sampler's weights if they are the current training weights; otherwise
   * undefined.
   */
  #version: number | undefined;
  /**
   * Maps the digest of each sampled sequence to true if its recorded log-probabilities are exact.
   * The value is false if the sequence was also sampled from a truncated distribution, because the
   * recorded log-probabilities may be those of that distribution.
   */
  readonly #digests = new Map<string, boolean>();

  published(): void {
    this.#arePublished = true;
  }

  /**
   * Records that the sampler has switched to other weights.
   * @param own true if `version` names the weights that were published last
   */
  adopted(version: number, own: boolean): void {
    if (own ? this.#arePublished : version === this.#version)
      this.#begin(own ? version : undefined);
  }

  /** Records that the training weights have changed. */
  trained(): void {
    this.#arePublished = false;
    this.#begin(undefined);
  }

  sampled(prompt: Int32Array, options: SamplingOptions, drawn: readonly SampledSequence[]): void {
    const isWhole = isWholeDistribution(options);
    for (const { tokens, policyVersion } of drawn) {
      if (policyVersion !== this.#version) continue;
      const text = digest([...prompt, ...tokens]);
      if (this.#digests.size === maxTexts && !this.#digests.has(text)) continue;
      this.#digests.set(text, isWhole && this.#digests.get(text) !== false);
    }
  }

  /**
   * Implements `TrainEngine.hasExactLogprobs`; false for sequences after the first {@link maxTexts}.
   */
  has(tokens: Int32Array, version: number): boolean {
    return version === this.#version && this.#digests.get(digest(tokens)) === true;
  }

  #begin(version: number | undefined): void {
    this.#version = version;
    this.#digests.clear();
  }
}

/**
 * Returns true if tokens are sampled from the whole distribution: without truncation, minimum
 * length or grammar, at any temperature.
 */
const isWholeDistribution = ({ topP = 1, topK = -1, minTokens = 0, grammar }: SamplingOptions) =>
  topP === 1 && topK === -1 && minTokens === 0 && !grammar;

const digest = (tokens: ArrayLike<number>): string =>
  hash('sha1', new Uint8Array(Int32Array.from(tokens).buffer));
