/** Samples from the bigram model of the fake engine, with the options of a real sampler. */
import { createRandom, deriveSeed } from '@trinity-rft/core';
import type { SampledSequence, SamplingOptions, TokenLogprob } from '@trinity-rft/core/engine';
import { nextToken, type Bigram } from './bigram.js';

/**
 * Samples one choice. `tick` is called before each token. It may wait, or throw to abort the
 * sampling.
 */
export async function sampleChoice(
  model: Bigram,
  prompt: Int32Array,
  options: SamplingOptions,
  run: {
    readonly choice: number;
    readonly room: number;
    readonly policyVersion: number;
    readonly decode: (tokens: readonly number[]) => string;
    readonly tick: () => Promise<void>;
  },
): Promise<SampledSequence> {
  const random = createRandom(deriveSeed(options.seed, run.choice));
  const tokens: number[] = [];
  const logprobs: number[] = [];
  const alternatives: TokenLogprob[][] = [];
  const limit = Math.min(options.maxTokens, run.room);
  const done = (stopReason: 'stop' | 'length', stopString?: string): SampledSequence => ({
    tokens: Int32Array.from(tokens),
    logprobs: Float32Array.from(logprobs),
    stopReason,
    stopString,
    topLogprobs: options.topLogprobs ? alternatives : undefined,
    policyVersion: run.policyVersion,
  });

  while (tokens.length < limit) {
    await run.tick();
    const banned = tokens.length < (options.minTokens ?? 0) ? (options.stopTokenIds ?? []) : [];
    const distribution = processed(
      model,
      tokens.at(-1) ?? prompt[prompt.length - 1]!,
      banned,
      options,
    );
    const drawn = draw(distribution, random.next());
    tokens.push(drawn.token);
    logprobs.push(drawn.logprob);
    alternatives.push(distribution.slice(0, options.topLogprobs ?? 0));
    if (options.stopTokenIds?.includes(drawn.token)) return done('stop');
    const stopString = options.stop?.find((text) => run.decode(tokens).endsWith(text));
    if (stopString !== undefined && tokens.length >= (options.minTokens ?? 0))
      return done('stop', stopString);
  }
  return done('length');
}

/**
 * Returns the tokens that can be sampled and their log-probabilities, most likely first. Applies
 * the temperature, removes banned ids, and applies first top-k and then top-p. The probabilities
 * are normalised after top-k and again after top-p.
 */
function processed(
  model: Bigram,
  previous: number,
  banned: readonly number[],
  options: SamplingOptions,
): readonly TokenLogprob[] {
  const { temperature = 1, topP = 1, topK = -1 } = options;
  const { logprobs } = nextToken(model, previous, temperature === 0 ? 1 : temperature);
  const ranked = [...logprobs]
    .map((logprob, token) => ({ token, logprob }))
    .filter(({ token }) => !banned.includes(token))
    .sort((a, b) => b.logprob - a.logprob || a.token - b.token);
  const top = normalise(ranked.slice(0, temperature === 0 ? 1 : topK > 0 ? topK : ranked.length));
  let mass = 0;
  return normalise(
    top.filter(({ logprob }) => {
      const keep = mass < topP;
      mass += Math.exp(logprob);
      return keep;
    }),
  );
}

function normalise(entries: readonly TokenLogprob[]): readonly TokenLogprob[] {
  const total = Math.log(entries.reduce((sum, { logprob }) => sum + Math.exp(logprob), 0));
  return entries.map(({ token, logprob }) => ({ token, logprob: Math.min(0, logprob - total) }));
}

function draw(entries: readonly TokenLogprob[], uniform: number): TokenLogprob {
  let rest = uniform;
  for (const entry of entries) {
    rest -= Math.exp(entry.logprob);
    if (rest < 0) return entry;
  }
  return entries.at(-1)!;
}
