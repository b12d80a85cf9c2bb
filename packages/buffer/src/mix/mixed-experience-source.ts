/**
 * Combines two sources, so that each batch contains experiences of the policy and rows of experts.
 */
import { type Experience, BufferError, withFields } from '@trinity-rft/core';
import type { ExperienceSource, Lease } from '@trinity-rft/core/store';
import { assertCount } from '../store/errors.js';

export interface MixedSourceOptions {
  /** Source of the policy's experiences. When it ends, the combined source ends. */
  readonly experiences: ExperienceSource;
  /**
   * Endless source of expert rows. Its position depends only on the train step, as in a
   * `fileExperienceSource`.
   */
  readonly experts: ExperienceSource;
  /** Number of expert rows in each batch, at least 1. */
  readonly expertCount: number;
}

/**
 * Combines two sources. A batch consists of `count - expertCount` experiences of the policy,
 * followed by `expertCount` expert rows. The filter applies only to the experiences of the policy,
 * and these are counted in the filter's unit. The last batch may contain fewer of them. Both parts
 * of a lease are acknowledged, released and rolled back together.
 *
 * The names of the experts' metrics start with `sample/expert_`. The metrics of the policy's
 * experiences are unchanged.
 */
export function mixedExperienceSource({
  experiences,
  experts,
  expertCount,
}: MixedSourceOptions): ExperienceSource {
  return {
    take: async (count, filter, signal) => {
      assertCount({ ...filter, count });
      if (count <= expertCount) throw nothingLeftError(count, expertCount);
      const own = await experiences.take(count - expertCount, filter, signal);
      if (!own) return undefined;
      try {
        const expert = await experts.take(expertCount, {}, signal);
        if (!expert) throw endedError();
        return mixedLease(own, expert);
      } catch (error) {
        await own.release().catch(() => undefined);
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
    acknowledge: async (trainStep, advantages) => {
      // Acknowledging the experts' part only checks the step. Acknowledging the other part is
      // durable.
      await expert.acknowledge(trainStep);
      await own.acknowledge(trainStep, advantages?.slice(0, own.experiences.length));
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
 * Converts an experience to a demonstration. Its reward, log-probabilities and advantages are 0,
 * and `info.is_expert` is true. It has no policy version. It has no spans either, even if the
 * experience consists of several model calls.
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
    `A batch of ${count} rows has ${expertCount} rows of experts, which leaves none for experiences; expected fewer. Lower expert_data_ratio or raise buffer.train_batch_size.`,
    { code: 'MIX_COUNT' },
  );
}

function endedError(): BufferError {
  return new BufferError(
    'The expert buffer has ended; expected one that starts again. Open it with totalRows: Infinity.',
    { code: 'MIX_EXPERTS_ENDED' },
  );
}
