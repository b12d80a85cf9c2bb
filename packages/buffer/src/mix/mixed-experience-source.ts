/** Two places to read from as one: each batch is part experts, part experiences. */
import {
  BufferError,
  withFields,
  type Experience,
  type ExperienceSource,
  type Lease,
} from '@trinity-rft/core';
import { assertCount } from '../store/errors.js';

export interface MixedSourceOptions {
  /** What the policy did. Its end is the end of the mixture. */
  readonly experiences: ExperienceSource;
  /**
   * What experts did, without an end; the position follows from the train step alone, as of a
   * `fileExperienceSource`.
   */
  readonly experts: ExperienceSource;
  /** Rows of each batch that experts fill, at least 1. */
  readonly expertCount: number;
}

/**
 * Of `count` rows, `expertCount` are experts', the rest (fewer of them at the end) experiences;
 * those come first. A lease is one of both: acknowledged, released and rolled back together.
 * Filters are about the experiences.
 *
 * Metrics: those of the experiences, and of the experts under `sample/expert_`.
 */
export function mixedExperienceSource({
  experiences,
  experts,
  expertCount,
}: MixedSourceOptions): ExperienceSource {
  return {
    take: async (count, filter, signal) => {
      assertCount(count);
      if (count <= expertCount) throw nothingLeftError(count, expertCount);
      const own = await experiences.take(count - expertCount, filter, signal);
      if (!own) return undefined;
      try {
        const expert = await experts.take(expertCount, {}, signal);
        if (!expert) throw endedError();
        return mixedLease(own, expert);
      } catch (error) {
        await own.release();
        throw error;
      }
    },
    rollback: async (trainStep) => {
      await experts.rollback(trainStep);
      await experiences.rollback(trainStep);
    },
    close: async () => {
      await experts.close();
      await experiences.close();
    },
  };
}

function mixedLease(own: Lease, expert: Lease): Lease {
  return {
    experiences: [...own.experiences, ...expert.experiences.map(asExpert)],
    metrics: { ...own.metrics, ...expertMetrics(expert) },
    acknowledge: async (trainStep) => {
      // The experts' side only checks the step; the other one is written down for good.
      await expert.acknowledge(trainStep);
      await own.acknowledge(trainStep);
    },
    release: async () => {
      await expert.release();
      await own.release();
    },
  };
}

const expertMetrics = ({ metrics }: Lease): Lease['metrics'] =>
  Object.fromEntries(
    Object.entries(metrics).map(([name, value]) => [
      name.replace(/^sample\//, 'sample/expert_'),
      value,
    ]),
  );

/**
 * A demonstration: reward 0, log-probabilities and advantages 0, `info.is_expert`. It is one row,
 * whatever calls it was made of, and of no version of the policy.
 */
export function asExpert(experience: Experience): Experience {
  const { spans: _calls, tokenRewards: _rewards, teacherLogprobs: _teacher, ...rest } = experience;
  const length = experience.logprobs.length;
  return withFields(rest, {
    reward: 0,
    logprobs: new Float32Array(length),
    advantages: new Float32Array(length),
    returns: new Float32Array(length),
    policyVersion: -1,
    info: { ...experience.info, is_expert: true },
  });
}

function nothingLeftError(count: number, expertCount: number): BufferError {
  return new BufferError(
    `A batch of ${count} rows has ${expertCount} of experts, which leaves nothing for experiences; expected fewer. Lower expert_data_ratio or raise buffer.train_batch_size.`,
    { code: 'MIX_COUNT' },
  );
}

function endedError(): BufferError {
  return new BufferError(
    'The expert buffer came to an end; expected one that goes round. Open it with totalRows: Infinity.',
    {
      code: 'MIX_EXPERTS_ENDED',
    },
  );
}
