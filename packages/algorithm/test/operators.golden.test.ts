import { createExperience } from '@trinity-rft/core';
import { describe, expect, it } from 'vitest';
import { createOperators } from '@trinity-rft/algorithm';
import { readVectors } from './support.js';

interface OperatorVectors {
  readonly reward_shaping_mapper: {
    readonly configs: readonly object[];
    readonly sample: {
      readonly reward: number;
      readonly q: number;
      readonly d: number;
      readonly out: number;
    };
  };
  readonly dapo_dynamic_sampling: {
    readonly cases: readonly {
      readonly accuracy: readonly number[];
      readonly reward?: readonly number[];
      readonly kept: number;
      readonly dropped_all_correct?: number;
      readonly dropped_all_wrong?: number;
    }[];
  };
}

const vectors = readVectors<OperatorVectors>('operators');

it('shapes rewards as the original does', () => {
  const { configs, sample } = vectors.reward_shaping_mapper;
  const [operator] = createOperators([
    { name: 'reward_shaping_mapper', args: { rewardShapingConfigs: configs } },
  ]);
  const info = { llm_quality_score: sample.q, llm_difficulty_score: sample.d };
  const { experiences } = operator!.apply([
    createExperience({ tokens: [1, 2], promptLength: 1, reward: sample.reward, info }),
  ]);
  expect(experiences[0]!.reward).toBe(sample.out);
});

describe('dapo_dynamic_sampling', () => {
  it.each(vectors.dapo_dynamic_sampling.cases)(
    'keeps $kept of runs with accuracy $accuracy',
    (vector) => {
      const [operator] = createOperators([{ name: 'dapo_dynamic_sampling' }]);
      const group = vector.accuracy.map((accuracy, run) =>
        createExperience({
          tokens: [1, 2],
          promptLength: 1,
          eid: { batch: 1, task: 0, run },
          reward: vector.reward?.[run] ?? accuracy,
          metrics: { accuracy },
        }),
      );
      const { experiences, metrics } = operator!.apply(group);
      expect(experiences).toHaveLength(vector.kept);
      expect(metrics).toEqual({
        filtered_count: group.length - vector.kept,
        dropped_all_correct:
          vector.dropped_all_correct ??
          (vector.kept === 0 && vector.dropped_all_wrong === undefined ? group.length : 0),
        dropped_all_wrong: vector.dropped_all_wrong ?? 0,
      });
    },
  );
});
