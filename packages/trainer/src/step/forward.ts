/** The forward passes of a train step: log-probabilities, entropy and values. */
import type { AlgorithmNeeds } from '@trinity-rft/core';
import type {
  TrainEngine,
  ValueEngine,
  ExpectedLoss,
  ForwardPass,
  ValuePass,
} from '@trinity-rft/core/engine';
import { assertFinite } from './assert-finite.js';
import type { PackedBatch } from './pack.js';
import { recordedPass, sampledEntropy } from './recorded.js';
import type { Stopwatch } from './stopwatch.js';

/**
 * Outputs of all models. Per-token values have the loss layout (see {@link PackedBatch}) and are
 * finite for trained tokens. [N]
 */
export interface ModelOutputs extends OtherOutputs {
  readonly pass: ForwardPass;
  readonly currentLogprobs: Float32Array;
  /**
   * 1 for each log-probability that the trainer computed, 0 for each one that the sampler recorded.
   * [N]
   * @default undefined: the trainer computed all log-probabilities
   */
  readonly computed?: Float32Array;
  readonly entropy?: Float32Array;
  readonly necs?: Float32Array;
}

/** Outputs of the models other than the policy. */
interface OtherOutputs {
  readonly refLogprobs?: Float32Array;
  readonly critic?: { readonly pass: ValuePass; readonly values: Float32Array };
}

export interface ForwardOptions {
  readonly engine: TrainEngine;
  readonly critic?: ValueEngine;
  readonly needs: AlgorithmNeeds;
  readonly step: number;
  readonly time: Stopwatch;
  /**
   * Returns a description of the policy's loss, computed from the outputs of the other models.
   * Returns undefined if the loss is not known before the policy's forward pass.
   */
  readonly expected: (others: OtherOutputs) => ExpectedLoss | undefined;
}

/**
 * Computes one forward pass of each model that the algorithm needs. The policy's pass comes last;
 * if {@link recordedPass} returns a pass, this pass replaces it.
 * @throws EngineError naming the first experience with a number that is not finite
 */
export async function forwardBatch(
  batch: PackedBatch,
  { engine, critic, needs, step, time, expected }: ForwardOptions,
): Promise<ModelOutputs> {
  const { tokens } = batch;
  const reference = needs.referenceLogprobs
    ? await time('ref', engine.forward(tokens, { weights: 'reference' }))
    : undefined;
  const valuePass = critic && (await time('values', critic.forward(tokens)));
  const others: OtherOutputs = {
    refLogprobs: reference && batch.toLoss(reference.logprobs),
    critic: valuePass && { pass: valuePass, values: batch.toLoss(valuePass.values) },
  };
  const loss = engine.forwardBackward && expected(others);
  const compute = (): Promise<ForwardPass> =>
    engine.forwardBackward && loss
      ? engine.forwardBackward(tokens, loss)
      : engine.forward(tokens, { entropy: needs.entropy !== 'none', necs: needs.necs });
  const recorded = await time('forward', recordedPass(batch, { engine, needs, step }));
  const pass = recorded?.pass ?? (await time('forward', compute()));
  const entropy = recorded ? pass.entropy : sampledEntropy(batch, pass, { engine, needs, step });
  const outputs: ModelOutputs = {
    ...others,
    pass,
    currentLogprobs: batch.toLoss(pass.logprobs),
    computed: recorded && batch.toLoss(recorded.computed),
    entropy: entropy && batch.toLoss(entropy),
    necs: pass.necs && batch.toLoss(pass.necs),
  };
  assertOutputs(batch, outputs);
  return outputs;
}

function assertOutputs(batch: PackedBatch, outputs: ModelOutputs): void {
  const { currentLogprobs, entropy, necs, refLogprobs, critic } = outputs;
  const named = [
    ['The log-probability', currentLogprobs],
    ['The entropy', entropy],
    ['The expectation over the vocabulary', necs],
    ['The log-probability by the reference', refLogprobs],
    ['The value', critic?.values],
  ] as const;
  for (const [what, values] of named)
    if (values) assertFinite(batch, what, values, { mask: batch.static.actionMask });
}
