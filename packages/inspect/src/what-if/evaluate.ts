/** Computes advantages and the gradient of a loss for one explore step. */
import { rowsOf, pack } from '@trinity-rft/algorithm';
import {
  runKey,
  type Experience,
  type LossInput,
  type Metrics,
  createRandom,
  deriveSeed,
  uid,
} from '@trinity-rft/core';
import type { VariantParts } from './variant.js';

/** Result of a variant for one rollout. */
export interface RunSignal {
  readonly reward: number | undefined;
  /**
   * Mean advantage over the rollout's trained tokens; 0 if the advantage function dropped the
   * rollout.
   */
  readonly advantage: number;
  /**
   * L2 norm of the gradient of the loss with respect to the log-probabilities of the rollout's
   * tokens.
   */
  readonly gradientNorm: number;
}

export interface BatchSignal {
  /** Results by rollout, keyed by `runKey`. */
  readonly runs: ReadonlyMap<string, RunSignal>;
  /**
   * Gradient of the loss with respect to the log-probabilities of response tokens, one array per
   * row of the batch. The keys consist of the uid of the experience and the start of the row in it.
   */
  readonly gradients: ReadonlyMap<string, Float32Array>;
  readonly loss: number;
  /** Metrics of the loss over the trained tokens. */
  readonly metrics: Metrics;
}

export interface Drift {
  /** Standard deviation of the change in log-probability since sampling, in nats. */
  readonly nats: number;
  readonly seed: number;
}

export function evaluateBatch(
  experiences: readonly Experience[],
  { advantage, loss }: VariantParts,
  drift: Drift,
): BatchSignal {
  const kept = advantage(experiences).experiences;
  const rows = kept.flatMap(rowsOf);
  const packed = pack(rows, { rewards: false, logprobs: true });
  const advantages = new Float32Array(packed.actionMask.length);
  for (const [i, { experience, start, end }] of rows.entries())
    if (experience.advantages)
      advantages.set(experience.advantages.subarray(start, end), packed.offsets[i]);
  const { offsets, actionMask, oldLogprobs, runs } = packed;
  const currentLogprobs = drifted(packed, drift);
  const input: LossInput = {
    offsets,
    actionMask,
    oldLogprobs,
    currentLogprobs,
    advantages,
    step: 1,
  };
  const output = rows.length === 0 ? nothing : loss(runs ? { ...input, runs } : input);
  return {
    runs: signalsOf(experiences, rows, { ...input, gradients: output.gradLogprobs }),
    gradients: gradientsOf(rows, offsets, output.gradLogprobs),
    loss: output.loss,
    metrics: output.metrics,
  };
}

const nothing = { loss: 0, gradLogprobs: new Float32Array(0), metrics: {} };

type Rows = ReturnType<typeof rowsOf>;

interface PackedSignal extends Pick<LossInput, 'offsets' | 'actionMask' | 'advantages'> {
  readonly gradients: Float32Array;
}

function signalsOf(
  experiences: readonly Experience[],
  rows: Rows,
  { offsets, actionMask, advantages, gradients }: PackedSignal,
): ReadonlyMap<string, RunSignal> {
  const sums = new Map(
    experiences.map(({ eid }) => [runKey(eid), { advantage: 0, tokens: 0, squares: 0 }]),
  );
  for (const [i, { experience }] of rows.entries()) {
    const sum = sums.get(runKey(experience.eid));
    if (!sum) continue;
    for (let t = offsets[i] ?? 0; t < (offsets[i + 1] ?? 0); t++) {
      if (!actionMask[t]) continue;
      sum.tokens++;
      sum.advantage += advantages[t] ?? 0;
      sum.squares += (gradients[t] ?? 0) ** 2;
    }
  }
  const lastOf = new Map(
    experiences
      .toSorted((a, b) => a.eid.step - b.eid.step)
      .map((experience) => [runKey(experience.eid), experience.reward]),
  );
  return new Map(
    [...sums].map(([run, { advantage, tokens, squares }]) => [
      run,
      {
        reward: lastOf.get(run),
        advantage: tokens === 0 ? 0 : advantage / tokens,
        gradientNorm: Math.sqrt(squares),
      },
    ]),
  );
}

function gradientsOf(
  rows: Rows,
  offsets: Int32Array,
  gradients: Float32Array,
): ReadonlyMap<string, Float32Array> {
  return new Map(
    rows.map(({ experience, start }, i) => [
      `${uid(experience.eid)}/${start}`,
      gradients.subarray(offsets[i], offsets[i + 1]),
    ]),
  );
}

/**
 * Returns log-probabilities as if the weights had changed since sampling: adds a normally
 * distributed change to each recorded one.
 */
function drifted(
  { actionMask, oldLogprobs }: Pick<LossInput, 'actionMask' | 'oldLogprobs'>,
  { nats, seed }: Drift,
): Float32Array {
  if (nats === 0) return oldLogprobs;
  const random = createRandom(deriveSeed(seed, 'drift'));
  return oldLogprobs.map((value, t) =>
    actionMask[t] ? Math.min(0, value + nats * random.normal()) : 0,
  );
}
