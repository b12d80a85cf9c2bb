import { describe, expect, it } from 'vitest';
import { assertScheduleKnown, learningRateAt } from './schedule.js';

const cosine = { lr: 1, lrSchedulerType: 'cosine', lrWarmupSteps: 10, minLrRatio: 0.01 } as const;
const constant = { ...cosine, lrSchedulerType: 'constant' } as const;

describe('learningRateAt', () => {
  // The expected factors are those of the golden vector `tinker_lr_factor`.
  it.each([
    [0, 0.01, 0.01],
    [5, 0.505, 0.505],
    [10, 1, 1],
    [50, 0.590955848, 1],
    [100, 0.01, 1],
  ])('step %d', (step, withCosine, withConstant) => {
    expect(learningRateAt(step, cosine, 100)).toBeCloseTo(withCosine, 8);
    expect(learningRateAt(step, constant, 100)).toBeCloseTo(withConstant, 8);
  });

  it('rises from the floor, one step ahead of constant_with_warmup', () => {
    const usual = (step: number): number => Math.min(1, (step - 1) / 10);
    for (const step of [1, 2, 3, 9, 10, 11]) {
      const share = Math.min(1, step / 10);
      expect(learningRateAt(step, constant, 100)).toBeCloseTo(0.01 + 0.99 * share, 12);
      expect(learningRateAt(step, { ...constant, minLrRatio: 0 }, 100)).toBe(usual(step + 1));
    }
  });
  it('stays at the floor past the end', () =>
    expect(learningRateAt(1000, cosine, 100)).toBeCloseTo(0.01, 12));
  it('begins at the peak without warm-up', () =>
    expect(learningRateAt(1, { ...constant, lrWarmupSteps: 0 }, 100)).toBe(1));
  it('takes the warm-up from its share of all steps', () =>
    expect(
      learningRateAt(5, { ...constant, lrWarmupSteps: undefined, lrWarmupStepsRatio: 0.1 }, 100),
    ).toBeCloseTo(0.505, 12));
});

describe('assertScheduleKnown', () => {
  const ratio = { lr: 1, lrSchedulerType: 'constant', lrWarmupStepsRatio: 0.1 } as const;

  it('asks for the number of steps where the schedule depends on it', () => {
    expect(() => assertScheduleKnown('optim', cosine, undefined)).toThrow(
      'optim: lr_scheduler_type cosine needs the number of train steps',
    );
    expect(() => assertScheduleKnown('optim', ratio, undefined)).toThrow('or lr_warmup_steps');
  });

  it('accepts a known number, and schedules that need none', () => {
    assertScheduleKnown('optim', cosine, 100);
    assertScheduleKnown('optim', constant, undefined);
  });
});
