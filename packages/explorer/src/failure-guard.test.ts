import {
  defaultFormatArgs,
  type ExperienceStore,
  type JsonState,
  type Task,
} from '@trinity-rft/core';
import { beforeEach, describe, expect, it } from 'vitest';
import { createDespair, type Despair } from './failure-guard.js';
import type { RunOutcome, TaskOutcome } from './runs/run-task.js';

const task: Task = {
  taskId: 0,
  batchId: 1,
  workflow: 'w',
  rawTask: {},
  formatArgs: defaultFormatArgs,
  rolloutArgs: {},
  workflowArgs: {},
  rewardFnArgs: {},
  repeatTimes: 2,
  isEval: false,
  index: { taskset: 'set', row: 0 },
};
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
let despair: Despair;
beforeEach(() => {
  states = [];
  const store = {
    put: async (_batch: unknown, state?: JsonState) => void states.push(state),
  } as unknown as ExperienceStore;
  despair = createDespair(store);
  despair.startFrom(at(0));
});

describe('createDespair', () => {
  it('bears two explore steps in a row in which every run failed, and not a third; it goes back to the last good one', async () => {
    await despair.watch(outcome(ok, failed('a')), at(1));
    await despair.watch(outcome(failed('first'), failed('b')), at(2));
    await despair.watch(outcome(failed('c')), at(3));
    expect(states).toEqual([]);
    await expect(despair.watch(outcome(failed('d'), failed('e')), at(4))).rejects.toMatchObject({
      name: 'WorkflowError',
      code: 'ALL_RUNS_FAILED',
      message: expect.stringMatching(
        /^Not one of the 5 runs of the last 3 explore steps succeeded\..* the run goes on after explore step 1\.$/,
      ) as unknown,
      cause: new TypeError('first'),
    });
    expect(states).toEqual([at(1)]);
  });

  it('begins to count anew after a run that succeeded', async () => {
    for (let step = 1; step <= 9; step++)
      await despair.watch(step % 3 === 0 ? outcome(ok) : outcome(failed('a')), at(step));
    await despair.watch(outcome(failed('a')), at(10));
    await despair.atEnd();
    expect(states).toEqual([]);
  });

  it('does not let a stage end of which not one run succeeded', async () => {
    await despair.watch(outcome(failed('a'), failed('b')), at(1));
    await expect(despair.atEnd()).rejects.toThrow(
      'Not one of the 2 runs of the last 1 explore step succeeded.',
    );
    expect(states).toEqual([at(0)]);
  });

  it('has nothing to say about a stage without steps', async () => {
    await despair.atEnd();
    expect(states).toEqual([]);
  });
});
