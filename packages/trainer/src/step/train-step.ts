/**
 * Makes one train step. The code is independent of the algorithm, which is passed as functions, and
 * of the engine, which is called through its interface.
 */
import { type Clock, type LossOutput, type Metrics, InvariantError } from '@trinity-rft/core';
import type { TrainEngine, ValueEngine, OptimizerOptions } from '@trinity-rft/core/engine';
import { prefixMetrics, type Algorithm } from '@trinity-rft/core/internal';
import type { Lease } from '@trinity-rft/core/store';
import { countMetrics, dataMetrics, outputMetrics } from './data-metrics.js';
import { forwardBatch } from './forward.js';
import { criticLoss, expectedLossOf, policyLoss } from './losses.js';
import { packBatch } from './pack.js';
import { requirementsOf } from './requirements.js';
import { assertSamePolicy } from './same-policy.js';
import { stopwatch } from './stopwatch.js';
import { targetMetrics } from './target-metrics.js';
import { targetsOf, usedAdvantages, type TrainerState, type Targets } from './targets.js';
import { updateActor, updateCritic, whole } from './updates.js';

export interface TrainStepOptions {
  readonly engine: TrainEngine;
  /** The critic and its optimizer; present if `algorithm.needs.valueHead`. */
  readonly critic?: CriticStep;
  readonly algorithm: Omit<Algorithm, 'advantage'>;
  readonly optimizer: OptimizerOptions;
  /** Train step, from 1. */
  readonly step: number;
  /** State after the previous step. @default the initial state of a trainer */
  readonly state?: TrainerState;
  readonly maxResponseTokens?: number;
  /**
   * Number of rollouts per task, from which groups that are only partly in the batch are counted.
   * @default 1
   */
  readonly repeatTimes?: number;
  /**
   * True if another program samples rollouts with the weights of this trainer. If the batch
   * contains rollouts that were sampled with the newest weights, the train step then verifies that
   * sampler and trainer have the same weights.
   * @default false
   */
  readonly isLive?: boolean;
  readonly clock: Clock;
}

export interface CriticStep {
  readonly engine: ValueEngine;
  readonly optimizer: OptimizerOptions;
  /** First train step that updates the policy. The critic is updated in every step. @default 0 */
  readonly warmupSteps?: number;
}

export interface TrainStepResult {
  readonly metrics: Metrics;
  /** State for the next step. */
  readonly state: TrainerState;
  /**
   * True if the policy had to learn from advantages other than 0, but the gradient of its loss is 0
   * at every token.
   * @default false
   */
  readonly isIdle?: boolean;
}

/**
 * Makes a train step: packs the batch, computes forward passes, advantages and losses, updates
 * policy and critic, and acknowledges the lease. If the step fails, it releases the lease, even if
 * the policy has already been updated. If no token of the batch is trained on, acknowledges the
 * lease without an update.
 */
export async function trainStep(lease: Lease, options: TrainStepOptions): Promise<TrainStepResult> {
  assertCritic(options);
  try {
    return await learn(lease, options);
  } catch (error) {
    // The cause of a failed step often makes the release fail, too, and it is the one to report.
    await lease.release().catch(() => undefined);
    throw error;
  }
}

async function learn(lease: Lease, options: TrainStepOptions): Promise<TrainStepResult> {
  const { engine, critic, algorithm, optimizer, step, state = {} } = options;
  const { needs, loss, valueLoss } = algorithm;
  const time = stopwatch(options.clock);
  const batch = packBatch(lease.experiences, requirementsOf(algorithm));
  const counts = { ...lease.metrics, ...countMetrics(batch) };
  const data = dataMetrics(batch, options);
  if (!batch.static.actionMask.includes(1)) {
    await lease.acknowledge(step);
    const metrics = { ...counts, ...data, 'actor/update_skipped': 1, ...time.metrics() };
    return { metrics, state };
  }

  const trainsActor = !critic || step >= (critic.warmupSteps ?? 0);
  const outputs = await forwardBatch(batch, {
    engine,
    critic: critic?.engine,
    needs,
    step,
    time,
    expected: (others) =>
      trainsActor && algorithm.expectedLoss
        ? expectedLossOf(batch, targetsOf(batch, others, algorithm, state), { ...algorithm, step })
        : undefined,
  });
  const identity = options.isLive ? assertSamePolicy(batch, outputs, step) : {};
  const targets = targetsOf(batch, outputs, algorithm, state);
  const policy = policyLoss(batch, outputs, targets, { loss, needs, step });
  const value = valueLoss && critic && criticLoss(batch, outputs, targets, valueLoss);

  const done = { batch, outputs, time };
  const actorUpdate = trainsActor
    ? await updateActor(engine, { ...done, loss: policy, optimizer })
    : {};
  const rest = <T>(work: Promise<T>): Promise<T> => (trainsActor ? whole(work) : work);
  const criticUpdate =
    critic && value
      ? await rest(
          updateCritic(critic.engine, { ...done, loss: value, optimizer: critic.optimizer }),
        )
      : {};
  await whole(lease.acknowledge(step, trainsActor ? usedAdvantages(batch, targets) : undefined));

  const metrics = {
    ...counts,
    ...outputMetrics(batch, outputs, needs),
    ...identity,
    ...targets.metrics,
    ...data,
    ...prefixMetrics('critic', value?.metrics ?? {}),
    ...targetMetrics(batch, targets, {
      values: outputs.critic?.values,
      repeatTimes: options.repeatTimes ?? 1,
    }),
    ...prefixMetrics('actor', policy.metrics),
    ...prefixMetrics('rollout_corr', policy.correction ?? {}),
    ...actorUpdate,
    ...criticUpdate,
    ...time.metrics(),
  };
  return { metrics, state: targets.state, isIdle: trainsActor && isIdle(policy, targets) };
}

const isIdle = (
  { gradLogprobs, gradEntropy }: LossOutput,
  { actionMask, advantages }: Targets,
): boolean =>
  gradLogprobs.every((gradient) => gradient === 0) &&
  (gradEntropy?.every((gradient) => gradient === 0) ?? true) &&
  advantages.some((advantage, token) => advantage !== 0 && actionMask[token] === 1);

function assertCritic({ critic, algorithm: { needs, valueLoss } }: TrainStepOptions): void {
  const hasCritic = critic !== undefined;
  if (hasCritic === needs.valueHead && (!hasCritic || valueLoss)) return;
  const problem = needs.valueHead ? 'needs a critic and a loss for it' : 'does not use a critic';
  throw new InvariantError(
    `The algorithm ${problem}; expected a critic exactly where needs.valueHead is true.`,
    { code: 'CRITIC_UNEXPECTED' },
  );
}
