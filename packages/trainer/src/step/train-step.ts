/**
 * One optimizer step. Blind to the algorithm (it gets functions) and to the engines (it gets
 * verbs).
 */
import {
  InvariantError,
  prefixMetrics,
  type Algorithm,
  type Clock,
  type Lease,
  type Metrics,
  type OptimizerOptions,
  type TrainEngine,
  type ValueEngine,
} from '@trinity-rft/core';
import { countMetrics, dataMetrics, entropyMetrics, mismatchMetrics } from './data-metrics.js';
import { criticLoss, policyLoss, updateActor, updateCritic } from './updates.js';
import { packBatch } from './pack.js';
import { requirementsOf } from './requirements.js';
import { scoreBatch } from './scores.js';
import { stopwatch } from './stopwatch.js';
import { targetMetrics } from './target-metrics.js';
import { targetsOf, type TrainerState } from './targets.js';

export interface TrainStepOptions {
  readonly engine: TrainEngine;
  /** Present where `algorithm.needs.valueHead`. */
  readonly critic?: CriticStep;
  readonly algorithm: Omit<Algorithm, 'advantage'>;
  readonly optimizer: OptimizerOptions;
  /** From 1. */
  readonly step: number;
  /** What the step before left. @default nothing */
  readonly state?: TrainerState;
  readonly maxResponseTokens?: number;
  /** Runs per task, to count groups of which the batch holds only a part. @default 1 */
  readonly repeatTimes?: number;
  readonly clock: Clock;
}

export interface CriticStep {
  readonly engine: ValueEngine;
  readonly optimizer: OptimizerOptions;
  /** Steps before this one train the critic only. @default 0 */
  readonly warmupSteps?: number;
}

export interface TrainStepResult {
  readonly metrics: Metrics;
  /** For the next step. */
  readonly state: TrainerState;
}

/**
 * Pack, score, penalty and advantages, losses, backward, update, acknowledge. The lease is given
 * back when anything before the updates fails. A batch without a single trained token updates
 * nothing and is used up.
 */
export async function trainStep(lease: Lease, options: TrainStepOptions): Promise<TrainStepResult> {
  const { engine, critic, algorithm, optimizer, step, state = {} } = options;
  const { needs, loss, valueLoss } = algorithm;
  assertCritic(options);
  const time = stopwatch(options.clock);
  try {
    const batch = packBatch(lease.experiences, requirementsOf(algorithm));
    const counts = { ...lease.metrics, ...countMetrics(batch) };
    if (!batch.static.actionMask.includes(1)) {
      await lease.acknowledge(step);
      return {
        metrics: {
          ...counts,
          ...dataMetrics(batch, options),
          'actor/update_skipped': 1,
          ...time.metrics(),
        },
        state,
      };
    }
    const scores = await scoreBatch(batch, {
      engine,
      needs,
      time,
      ...(critic && { critic: critic.engine }),
    });
    const targets = targetsOf(batch, scores, algorithm, state);
    const policy = policyLoss(batch, scores, targets, { loss, needs, step });
    const value = critic && criticLoss(batch, scores, targets, valueLoss!);
    const actorWaits = critic !== undefined && step < (critic.warmupSteps ?? 0);
    const updates = {
      ...(!actorWaits &&
        (await updateActor(engine, { batch, scores, loss: policy, optimizer, time }))),
      ...(critic &&
        (await updateCritic(critic.engine, {
          batch,
          scores,
          loss: value!,
          optimizer: critic.optimizer,
          time,
        }))),
    };
    await lease.acknowledge(step);
    const metrics = {
      ...counts,
      ...(needs.rollouts && mismatchMetrics(scores.currentLogprobs, batch)),
      ...entropyMetrics(scores.entropy, batch),
      ...targets.metrics,
      ...dataMetrics(batch, options),
      ...prefixMetrics('critic', value?.metrics ?? {}),
      ...targetMetrics(batch, targets, {
        repeatTimes: options.repeatTimes ?? 1,
        ...(scores.critic && { values: scores.critic.values }),
      }),
      ...prefixMetrics('actor', policy.metrics),
      'actor/final_loss': policy.loss,
      ...updates,
      ...time.metrics(),
    };
    return { metrics, state: targets.state };
  } catch (error) {
    await lease.release();
    throw error;
  }
}

function assertCritic({ critic, algorithm: { needs, valueLoss } }: TrainStepOptions): void {
  if (
    (critic !== undefined) === needs.valueHead &&
    (critic === undefined || valueLoss !== undefined)
  )
    return;
  const problem = needs.valueHead ? 'needs a critic and a loss for it' : 'has no use for a critic';
  throw new InvariantError(
    `The algorithm ${problem}; expected both or none. Open a critic exactly where needs.valueHead is true.`,
    {
      code: 'CRITIC_UNEXPECTED',
    },
  );
}
