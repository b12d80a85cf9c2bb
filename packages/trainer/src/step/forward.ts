/** The forward passes of a train step: log-probabilities, entropy and values. */
import type { AlgorithmNeeds, TrainEngine, ValueEngine } from '@trinity-rft/core';
import type { ForwardPass, ValuePass } from '@trinity-rft/core/internal';
import { assertFinite } from './assert-finite.js';
import type { PackedBatch } from './pack.js';
import type { Stopwatch } from './stopwatch.js';

/** Per-token numbers are in the layout of the loss, and finite where they are trained on. [N] */
export interface ModelOutputs {
  readonly pass: ForwardPass;
  readonly currentLogprobs: Float32Array;
  readonly entropy?: Float32Array;
  readonly necs?: Float32Array;
  readonly refLogprobs?: Float32Array;
  readonly critic?: { readonly pass: ValuePass; readonly values: Float32Array };
}

export interface ForwardOptions {
  readonly engine: TrainEngine;
  readonly critic?: ValueEngine;
  readonly needs: AlgorithmNeeds;
  readonly time: Stopwatch;
}

/**
 * One forward pass of each model that the algorithm needs.
 * @throws EngineError naming the experience of a number that is not finite
 */
export async function forwardBatch(
  batch: PackedBatch,
  { engine, critic, needs, time }: ForwardOptions,
): Promise<ModelOutputs> {
  const { tokens } = batch;
  const pass = await time(
    'forward',
    engine.forward(tokens, { entropy: needs.entropy !== 'none', necs: needs.necs }),
  );
  const reference = needs.referenceLogprobs
    ? await time('ref', engine.forward(tokens, { weights: 'reference' }))
    : undefined;
  const valuePass = critic && (await time('values', critic.forward(tokens)));

  const inLoss = (what: string, values: Float32Array): Float32Array => {
    const numbers = batch.toLoss(values);
    assertFinite(batch, what, numbers, { mask: batch.static.actionMask });
    return numbers;
  };
  return {
    pass,
    currentLogprobs: inLoss('The log-probability', pass.logprobs),
    entropy: pass.entropy && inLoss('The entropy', pass.entropy),
    necs: pass.necs && inLoss('The expectation over the vocabulary', pass.necs),
    refLogprobs: reference && inLoss('The log-probability by the reference', reference.logprobs),
    critic: valuePass && { pass: valuePass, values: inLoss('The value', valuePass.values) },
  };
}
