/** What the models say of a batch, before anything is learned from it. */
import type {
  AlgorithmNeeds,
  ForwardPass,
  TrainEngine,
  ValueEngine,
  ValuePass,
} from '@trinity-rft/core';
import { assertFinite } from './finite.js';
import type { PackedBatch } from './pack.js';
import type { Stopwatch } from './stopwatch.js';

/** Per-token numbers are in the layout of the loss, finite where they are trained on. */
export interface Scores {
  readonly pass: ForwardPass;
  readonly currentLogprobs: Float32Array;
  readonly entropy?: Float32Array;
  readonly necs?: Float32Array;
  readonly refLogprobs?: Float32Array;
  readonly critic?: { readonly pass: ValuePass; readonly values: Float32Array };
}

export interface ScoreOptions {
  readonly engine: TrainEngine;
  readonly critic?: ValueEngine;
  readonly needs: AlgorithmNeeds;
  readonly time: Stopwatch;
}

/**
 * Asks each model once, and only for what the algorithm needs.
 * @throws EngineError naming the experience of a number that is not finite
 */
export async function scoreBatch(
  batch: PackedBatch,
  { engine, critic, needs, time }: ScoreOptions,
): Promise<Scores> {
  const { tokens } = batch;
  const checked = (what: string, values: Float32Array): Float32Array => {
    const inLoss = batch.toLoss(values);
    assertFinite(batch, what, inLoss, { mask: batch.static.actionMask });
    return inLoss;
  };
  const pass = await time(
    'forward',
    engine.forward(tokens, { entropy: needs.entropy !== 'none', necs: needs.necs }),
  );
  const reference = needs.referenceLogprobs
    ? await time('ref', engine.forward(tokens, { weights: 'reference' }))
    : undefined;
  const valued = critic && (await time('values', critic.forward(tokens)));
  return {
    pass,
    currentLogprobs: checked('The log-probability', pass.logprobs),
    ...(pass.entropy && { entropy: checked('The entropy', pass.entropy) }),
    ...(pass.necs && { necs: checked('The expectation over the vocabulary', pass.necs) }),
    ...(reference && {
      refLogprobs: checked('The log-probability by the reference', reference.logprobs),
    }),
    ...(valued && { critic: { pass: valued, values: checked('The value', valued.values) } }),
  };
}
