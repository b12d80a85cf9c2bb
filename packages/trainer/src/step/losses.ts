/**
 * Computes the losses of a batch and their gradients, and checks them before they are passed to
 * models.
 */
import {
  runKey,
  type AlgorithmNeeds,
  type LossInput,
  type LossOutput,
  type PolicyLossFn,
  InvariantError,
} from '@trinity-rft/core';
import type { ExpectedLoss } from '@trinity-rft/core/engine';
import type { Algorithm, ValueLossFn } from '@trinity-rft/core/internal';
import { assertFinite, assertFiniteLoss } from './assert-finite.js';
import type { ModelOutputs } from './forward.js';
import { sampledOnly, type PackedBatch } from './pack.js';
import type { Targets } from './targets.js';

const code = 'GRADIENT_NOT_FINITE';

/**
 * Computes the loss of the policy and its gradient, and checks both.
 * @throws EngineError naming the first experience whose gradient is not finite
 */
export function policyLoss(
  batch: PackedBatch,
  outputs: ModelOutputs,
  targets: Targets,
  options: { readonly loss: PolicyLossFn; readonly needs: AlgorithmNeeds; readonly step: number },
): LossOutput {
  const { loss } = options;
  const { currentLogprobs, entropy, refLogprobs } = outputs;
  const known = { ...knownInput(batch, targets, options), refLogprobs, entropy };
  const output = loss({ ...known, currentLogprobs });
  const fix = 'Look at its reward, advantage and log-probabilities';
  assertFinite(batch, 'The loss gradient', output.gradLogprobs, { fix, code });
  if (output.gradEntropy)
    assertFinite(batch, 'The loss gradient by entropy', output.gradEntropy, { fix, code });
  assertFiniteLoss('The loss', output.loss);
  return output;
}

interface InputOptions {
  readonly needs: AlgorithmNeeds;
  readonly step: number;
}

const knownInput = (
  batch: PackedBatch,
  { actionMask, advantages }: Targets,
  { needs, step }: InputOptions,
): Omit<LossInput, 'currentLogprobs'> => ({
  step,
  offsets: batch.static.offsets,
  actionMask,
  oldLogprobs: batch.static.oldLogprobs,
  advantages,
  runs: needs.rollouts ? runsOf(batch) : undefined,
  expertMask: needs.expertMask ? batch.expertMask : undefined,
});

/**
 * Returns the description of the policy's loss if it is known before the policy's forward pass, or
 * undefined if it is not. Its arrays have the engine layout (see {@link PackedBatch}).
 */
export function expectedLossOf(
  batch: PackedBatch,
  targets: Targets,
  { expectedLoss, ...options }: InputOptions & Pick<Algorithm, 'expectedLoss'>,
): ExpectedLoss | undefined {
  const loss = expectedLoss?.(knownInput(batch, targets, options));
  return (
    loss && {
      ...loss,
      advantages: batch.toEngine(loss.advantages),
      oldLogprobs: batch.toEngine(loss.oldLogprobs),
    }
  );
}

/**
 * Returns, for each call, the index of its rollout in the batch. Consecutive calls with the same
 * run key have the same index, and every demonstration has an index of its own. Calls with the same
 * key that are not consecutive, such as those of a copy of a rollout, have different indices. [B]
 */
function runsOf({ calls, expertMask }: PackedBatch): Int32Array {
  let run = -1;
  return Int32Array.from(calls, ({ experience }, row) => {
    const before = calls[row - 1]?.experience.eid;
    const same = before && !expertMask[row] && runKey(before) === runKey(experience.eid);
    if (!same) run++;
    return run;
  });
}

/**
 * Computes the loss of the critic and its gradient, and checks both. The critic is updated once per
 * batch. The values in its loss are therefore those from which the advantages were computed, and
 * clipping has no effect.
 */
export function criticLoss(
  batch: PackedBatch,
  outputs: ModelOutputs,
  targets: Targets,
  loss: ValueLossFn,
): ReturnType<ValueLossFn> {
  const { values } = outputs.critic ?? {};
  const { returns } = targets;
  if (!values || !returns)
    throw new InvariantError(
      'A critic was given, but the algorithm computes no returns for it to learn. Leave the critic out.',
      { code: 'CRITIC_UNUSED' },
    );
  const { offsets } = batch.static;
  const actionMask = sampledOnly(batch, targets.actionMask);
  const output = loss({ offsets, actionMask, values, oldValues: values, returns });
  const fix = 'Look at its reward and values';
  assertFinite(batch, 'The gradient of the value', output.gradValues, { fix, code });
  assertFiniteLoss('The loss of the critic', output.loss);
  return output;
}
