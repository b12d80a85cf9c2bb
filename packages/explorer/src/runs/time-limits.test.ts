import { testTask } from '@trinity-rft/testing';
import { describe, expect, it } from 'vitest';
import type { TaskOutcome } from './outcome.js';
import { createTimeLimits, type DynamicTimeout } from './time-limits.js';

const outcome = (seconds: readonly (number | 'late')[], of = testTask()): TaskOutcome => ({
  task: of,
  runs: [],
  retries: 0,
  timeouts: 0,
  seconds: 0,
  attempts: seconds.map((time) =>
    time === 'late' ? { seconds: 99, isLate: true } : { seconds: time, isLate: false },
  ),
});

const limits = (over: Partial<DynamicTimeout> = {}) =>
  createTimeLimits({
    maxTimeoutMs: 100_000,
    dynamicTimeout: { enable: true, ratio: 3, warmupMinSteps: 2, ...over },
  });
const nine = Array.from({ length: 9 }, (_, i) => i + 1);

describe('the time limit of an attempt', () => {
  it('is a multiple of the time in which nine of ten succeeded, after the warm-up', () => {
    const times = limits();
    times.record([outcome([...nine, 30])]);
    expect(times.limit(testTask())).toEqual({ ms: 100_000, key: 'max_timeout' });
    times.record([]);
    expect(times.limit(testTask())).toEqual({ ms: 27_000, key: 'dynamic_timeout' });
    expect(times.metrics([testTask()])).toMatchObject({ 'rollout/attempts/time_limit/mean': 27 });
  });

  it('is never above the maximum, never one for evaluations, and of each workflow its own', () => {
    const times = limits({ ratio: 50 });
    const slow = testTask({ workflow: 'slow' });
    times.record([
      outcome([...nine, 30]),
      outcome(
        nine.map(() => 1),
        slow,
      ),
    ]);
    times.record([outcome([1], slow), outcome([0.1, 0.1], testTask({ isEval: true }))]);
    expect(times.limit(testTask()).ms).toBe(100_000);
    expect(times.limit(slow).ms).toBe(50_000);
    expect(times.limit({ ...slow, isEval: true }).ms).toBe(100_000);
    expect(times.limit(testTask({ workflow: 'new' })).ms).toBe(100_000);
  });

  it('is given up when more than a tenth of the attempts reach it', () => {
    const times = limits();
    times.record([outcome([...nine, 'late'])]);
    times.record([]);
    expect(times.limit(testTask()).ms).toBe(27_000);
    times.record([outcome(['late'])]);
    expect(times.limit(testTask()).ms).toBe(100_000);
  });

  it('survives a restart', () => {
    const before = limits();
    before.record([outcome([...nine, 'late'])]);
    before.record([]);
    const after = limits();
    after.restore(JSON.parse(JSON.stringify(before.state())) as Record<string, unknown>);
    expect(after.limit(testTask())).toEqual(before.limit(testTask()));
    expect(after.state()).toEqual(before.state());
  });

  it('is the maximum where it is off, and nothing is stored', () => {
    const off = limits({ enable: false });
    off.record([outcome([...nine, 30])]);
    off.record([]);
    expect(off.limit(testTask()).ms).toBe(100_000);
    expect([off.state(), off.metrics([testTask()])]).toEqual([undefined, {}]);
  });
});
