import { createExperience, type Experience, type ExperienceOperator } from '@trinity-rft/core';
import { describe, expect, it } from 'vitest';
import { runPipeline } from './pipeline.js';

const of = (run: number): Experience =>
  createExperience({ tokens: [1, 2], promptLength: 1, reward: run, eid: { run } });
const atLeast = (threshold: number, name = 'at_least'): ExperienceOperator => ({
  name,
  apply: (experiences) => {
    const kept = experiences.filter(({ reward }) => reward! >= threshold);
    return {
      experiences: kept,
      metrics: { filtered_count: experiences.length - kept.length, threshold },
    };
  },
});
const sawAdvantage: number[] = [];
const advantage = (experiences: readonly Experience[]) => {
  sawAdvantage.push(experiences.length);
  return { experiences: experiences.slice(1), metrics: { filtered_count: 1, group_advantages: 5 } };
};

describe('runPipeline', () => {
  it('runs operators in order, then the advantages, and counts what each dropped', () => {
    const { experiences, metrics } = runPipeline([of(0), of(1), of(2), of(3)], {
      operators: [
        atLeast(1),
        { name: 'twice', apply: (list) => ({ experiences: list, metrics: { seen: list.length } }) },
        atLeast(2),
      ],
      advantage,
    });
    expect(experiences.map(({ reward }) => reward)).toEqual([3]);
    expect(sawAdvantage.at(-1)).toBe(2);
    expect(metrics).toEqual({
      'experience_pipeline/at_least/filtered_count': 1,
      'experience_pipeline/at_least/threshold': 1,
      'experience_pipeline/twice/seen': 3,
      'experience_pipeline/at_least_2/filtered_count': 1,
      'experience_pipeline/at_least_2/threshold': 2,
      'experience_pipeline/group_advantages': 5,
      'experience_pipeline/filtered_count': 3,
      'experience_pipeline/experience_count': 1,
    });
  });

  it('stores nothing when nothing is left, without asking for the advantages of nothing', () => {
    const asked = sawAdvantage.length;
    const { experiences, metrics } = runPipeline([of(0)], {
      operators: [atLeast(9)],
      advantage,
      experienceShape: 'trajectory',
    });
    expect(experiences).toEqual([]);
    expect(sawAdvantage).toHaveLength(asked);
    expect(metrics).toMatchObject({
      'experience_pipeline/filtered_count': 1,
      'experience_pipeline/experience_count': 0,
    });
  });
});
