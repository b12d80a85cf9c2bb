/** Creates the half of the engine that samples. */
import { ModelError, throwIfAborted } from '@trinity-rft/core';
import type { Sampler, SampledSequence, SamplingOptions, TokenRow } from '@trinity-rft/core/engine';
import { lazily } from '@trinity-rft/core/support';
import pLimit from 'p-limit';
import { unreadable, type Calls } from '../remote/calls.js';
import { faultOf, type RowLimits } from '../train/rows.js';
import type { SamplingHandle } from './handle.js';
import { greedyParams, paramsOf, requestSamples } from './request.js';
import { cutAtStop } from './stop-strings.js';

export interface SamplerOptions {
  readonly calls: Calls;
  readonly limits: RowLimits;
  readonly tokenBytes: readonly Uint8Array[] | undefined;
  /**
   * Makes the weights of `source` available for sampling. `source` is a checkpoint folder, or the
   * most recently published weights.
   */
  readonly weightsOf: (source: Parameters<Sampler['adopt']>[0]) => Promise<SamplingHandle>;
  /** Returns the weights that are sampled before any call of `adopt`. */
  readonly initialWeights: () => Promise<SamplingHandle>;
}

interface AdoptedWeights {
  readonly handle: SamplingHandle;
  readonly version: number;
}

/** Maximum number of concurrent requests. Each of them occupies a connection. */
const mostRequests = 256;

export function createSampler(options: SamplerOptions): Sampler {
  const { calls, limits, tokenBytes, weightsOf, initialWeights } = options;
  const { maxModelLen } = limits;
  const places = pLimit(mostRequests);
  const initial = lazily(initialWeights);
  let current: AdoptedWeights | undefined;

  /**
   * Calls `work` with the weights that are current now. They are kept on the server while the call
   * waits for a free connection and while it runs.
   */
  const withWeights = async <T>(work: (weights: AdoptedWeights) => Promise<T>): Promise<T> => {
    let weights = current;
    if (!weights) {
      const handle = await initial.get();
      // Other weights may have been adopted in the meantime.
      weights = current ?? { handle, version: -1 };
    }
    return weights.handle.use(() => places(() => work(weights)));
  };
  return {
    maxModelLen,
    get policyVersion() {
      return current?.version ?? -1;
    },
    adopt: async (source, version) => {
      const handle = await weightsOf(source);
      if (!current) void initial.opened().then((before) => before?.retire());
      else if (handle !== current.handle) current.handle.retire();
      current = { handle, version };
    },
    sample: async (prompt, options, signal) => {
      throwIfAborted(signal);
      checkPrompt(prompt, limits);
      checkOptions(options, tokenBytes);
      const { n = 1, maxTokens } = options;
      const params = paramsOf(options, Math.min(maxTokens, maxModelLen - prompt.length));
      const request = { prompt, count: n, params };
      return withWeights(async ({ handle, version }) => {
        const { sequences } = await requestSamples(calls, handle, request, signal);
        checkSampled(sequences, limits);
        return sequences.map((sequence): SampledSequence => ({
          ...cutAtStop(sequence, options.stop ?? [], tokenBytes ?? []),
          policyVersion: version,
        }));
      });
    },
    score: async (row, signal) => {
      throwIfAborted(signal);
      const fault = faultOf(row, limits);
      if (fault !== undefined) throw new ModelError(`The text ${fault}.`, { status: 400 });
      return withWeights(({ handle }) => scoreRow(calls, handle, row, signal));
    },
  };
}

/**
 * Returns the log-probabilities of a row's response. Also samples one token, because the protocol
 * requires at least one, and discards it.
 */
export async function scoreRow(
  calls: Calls,
  handle: SamplingHandle,
  { tokens, promptLength }: TokenRow,
  signal?: AbortSignal,
): Promise<Float32Array> {
  const request = { prompt: tokens, count: 1, params: greedyParams, promptLogprobs: true };
  const { promptLogprobs } = await requestSamples(calls, handle, request, signal);
  return promptLogprobs.slice(promptLength - 1);
}

function checkPrompt(prompt: Int32Array, { maxModelLen, vocabSize }: RowLimits): void {
  if (prompt.length === 0 || prompt.length >= maxModelLen)
    throw new ModelError(
      `The prompt has ${prompt.length} tokens; expected at least 1 and fewer than the ${maxModelLen} of the model, to leave room for an answer.`,
      { status: 400 },
    );
  const foreign = prompt.findIndex((id) => id < 0 || id >= vocabSize);
  if (foreign >= 0)
    throw new ModelError(
      `The prompt holds the id ${prompt[foreign]} at position ${foreign}, and the vocabulary ends at ${vocabSize - 1}.`,
      { status: 400 },
    );
}

function checkSampled(
  sequences: readonly { readonly tokens: Int32Array }[],
  { vocabSize }: RowLimits,
): void {
  for (const { tokens } of sequences) {
    const foreign = tokens.find((id) => id < 0 || id >= vocabSize);
    if (foreign !== undefined)
      throw unreadable(
        'sample',
        `it sampled the id ${foreign}, and the vocabulary of model.model_path ends at ${vocabSize - 1}`,
      );
  }
}

function checkOptions(
  { minTokens = 0, topLogprobs = 0, grammar, stop = [] }: SamplingOptions,
  tokenBytes: readonly Uint8Array[] | undefined,
): void {
  const asked = [
    minTokens > 0 ? 'a minimum length' : '',
    topLogprobs > 0 ? 'alternatives to each token' : '',
    grammar === undefined ? '' : 'an answer of a given form',
  ].filter((text) => text !== '');
  if (asked.length > 0)
    throw new ModelError(`A Tinker server cannot sample with ${asked.join(' and ')}.`, {
      status: 400,
    });
  if (stop.includes(''))
    throw new ModelError('A stop text is empty; expected at least one character.', { status: 400 });
  if (stop.length > 0 && tokenBytes === undefined)
    throw new ModelError('Stop texts need the bytes of the tokens, which were not given.', {
      status: 400,
    });
}
