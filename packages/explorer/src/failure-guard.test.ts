import { CancelledError, ModelError, RewardError } from '@trinity-rft/core';
import type { ExperienceStore, JsonState } from '@trinity-rft/core/store';
import { testTask } from '@trinity-rft/testing';
import { beforeEach, describe, expect, it } from 'vitest';
import { createFailureGuard, type FailureGuard } from './failure-guard.js';
import type { RunOutcome, TaskOutcome } from './runs/outcome.js';

const task = testTask();
const ok: RunOutcome = {
  status: 'ok',
  run: 0,
  experiences: [],
  reward: 1,
  metrics: {},
  seconds: 0,
};
const failed = (why: string): RunOutcome => ({
  status: 'failed',
  run: 1,
  kind: 'failed',
  error: new TypeError(why),
  seconds: 0,
});
const outcome = (...runs: readonly RunOutcome[]): readonly TaskOutcome[] => [
  { task, runs, retries: 0, timeouts: 0, seconds: 0 },
];
const at = (step: number): { step: number; policyVersion: number; feed: JsonState } => ({
  step,
  policyVersion: 0,
  feed: { cursor: step },
});

let states: (JsonState | undefined)[];
let guard: FailureGuard;
beforeEach(() => {
  states = [];
  const store = {
    put: async (_batch: unknown, state?: JsonState) => void states.push(state),
  } as unknown as ExperienceStore;
  guard = createFailureGuard(store);
  guard.start(at(0));
});

describe('createFailureGuard', () => {
  it('accepts two explore steps in a row in which every run failed, and not a third; it rewinds to the last good one', async () => {
    await guard.stepDone(outcome(ok, failed('a')), at(1));
    await guard.stepDone(outcome(failed('first'), failed('b')), at(2));
    await guard.stepDone(outcome(failed('c')), at(3));
    expect(states).toEqual([]);
    await expect(guard.stepDone(outcome(failed('d'), failed('e')), at(4))).rejects.toMatchObject({
      name: 'WorkflowError',
      code: 'ALL_RUNS_FAILED',
      message: expect.stringMatching(
        /^All 5 runs of the last 3 explore steps failed\..* continues after explore step 1, when the cause of the first failure is fixed\.$/,
      ) as unknown,
      cause: new TypeError('first'),
    });
    expect(states).toEqual([at(1)]);
  });

  it('counts from zero after a run that succeeded', async () => {
    for (let step = 1; step <= 9; step++)
      await guard.stepDone(step % 3 === 0 ? outcome(ok) : outcome(failed('a')), at(step));
    await guard.stepDone(outcome(failed('a')), at(10));
    await guard.end();
    expect(states).toEqual([]);
  });

  it('rejects a stage of which not one run succeeded', async () => {
    await guard.stepDone(outcome(failed('a'), failed('b')), at(1));
    await expect(guard.end()).rejects.toThrow('All 2 runs of the last explore step failed.');
    expect(states).toEqual([at(0)]);
  });

  it.each([
    [new ModelError('The prompt is too long.', { status: 400 }), true],
    [new RewardError('The judge failed.', { cause: new ModelError('no', { status: 401 }) }), true],
    [new RewardError('The judge failed.', { cause: new ModelError('no', { status: 503 }) }), false],
    [new CancelledError('The run took too long.', { reason: 'timeout' }), false],
  ])('reports whether the first failure will repeat: %s', async (error, willRepeat) => {
    await guard.stepDone(outcome({ ...failed(''), error } as RunOutcome), at(1));
    await expect(guard.end()).rejects.toMatchObject({ details: { willRepeat } });
  });

  it('accepts a stage without steps', async () => {
    await guard.end();
    expect(states).toEqual([]);
  });
});
