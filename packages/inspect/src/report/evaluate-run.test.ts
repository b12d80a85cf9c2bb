import { defaultFormatArgs, type Metrics, type Task } from '@trinity-rft/core';
import type { RunOutcome } from '@trinity-rft/explorer';
import type { EvaluatedCheckpoint } from '@trinity-rft/launcher';
import { expect, it } from 'vitest';
import { unmetExpectations } from './compare-evaluations.js';
import { setEvaluation } from './evaluate-run.js';

const task: Task = {
  rawTask: { question: '1+1' },
  formatArgs: defaultFormatArgs,
  repeatTimes: 2,
  batchId: 0,
  taskId: 0,
  isEval: true,
  workflow: 'w',
  workflowArgs: {},
  rewardFnArgs: {},
  rolloutArgs: {},
  index: { taskset: 'held_out', row: 0 },
};

/** A rollout with these metrics, or one that failed. */
const rollout = (metrics: Metrics | undefined, run: number): RunOutcome =>
  metrics
    ? { status: 'ok', run, reward: 1, metrics, experiences: [], seconds: 1 }
    : { status: 'failed', run, kind: 'failed', error: new Error('no'), seconds: 1 };

const checkpoint = (
  step: number,
  tasks: readonly (readonly (Metrics | undefined)[])[],
): EvaluatedCheckpoint => {
  const outcomes = tasks.map((runs) => ({
    ...{ task, retries: 0, timeouts: 0, seconds: 1 },
    runs: runs.map(rollout),
  }));
  return {
    step,
    directory: undefined,
    isLast: true,
    sets: [{ set: 'held_out', policyVersion: 0, outcomes }],
  };
};

const unmet = (checkpoints: readonly EvaluatedCheckpoint[], key: string) =>
  unmetExpectations(
    { jobDirectory: '/', interrupted: false, sets: [setEvaluation('held_out', checkpoints)] },
    [],
    { lowest: new Map([[key, 0.8]]) },
  );

it('counts failures and missing keys as 0 in every metric, as in the mean', () => {
  const right = { reward: 1, calls: 3 };
  const half = [
    [right, undefined],
    [{ reward: 1 }, undefined],
  ];
  const [score] = setEvaluation('held_out', [checkpoint(0, half)]).checkpoints;
  expect(score).toMatchObject({ mean: 0.5, failedRuns: 2, metrics: { reward: 0.5, calls: 0.75 } });
  expect(unmet([checkpoint(0, half)], 'reward')).toEqual([
    'held_out: reward is 0.500, below 0.8 (--fail-below).',
  ]);
});

it.each([
  ['with the last checkpoint', [checkpoint(0, [[{ accuracy: 1 }]]), checkpoint(1, [[undefined]])]],
  ['with the only checkpoint', [checkpoint(0, [[undefined]])]],
])('does not pass the gate when every rollout failed %s', (_, checkpoints) => {
  expect(unmet(checkpoints, 'accuracy')).toEqual([
    'held_out: accuracy is 0.000, below 0.8 (--fail-below).',
  ]);
});
