import { defaultFormatArgs, RewardError, type Metrics, type Task } from '@trinity-rft/core';
import { expect, it } from 'vitest';
import type { TaskOutcome } from '../runs/outcome.js';
import { rolloutMetrics } from './rollout-metrics.js';

const outcome = (runs: readonly Metrics[]): TaskOutcome => ({
  task: { formatArgs: defaultFormatArgs } as Task,
  runs: runs.map((metrics, run) => ({
    ...{ status: 'ok', run, experiences: [], reward: 1, metrics, seconds: 1 },
  })),
  retries: 0,
  timeouts: 0,
  seconds: 2,
});

it('counts 0 for a rollout that omits a counter of model calls, as it does for no forks', () => {
  const quiet = { 'model/calls': 2 };
  const forked = { 'model/calls': 2, 'model/fork/text_edited': 4 };
  const foreign = { accuracy: 1 };
  const step = [outcome([quiet, forked]), outcome([quiet, quiet]), outcome([foreign])];
  expect(rolloutMetrics(step, 0)).toMatchObject({
    'rollout/model/calls/mean': 2,
    // Rollouts of a program that does not count its calls do not count.
    'rollout/model/fork/text_edited/mean': 1,
    'rollout/model/fork/text_edited/max': 2,
    'rollout/accuracy/mean': 1,
  });
});

it('counts rollouts that failed because a judge gave no verdict', () => {
  const failed = (code: string) => ({
    ...{ status: 'failed', run: 0, kind: 'failed', seconds: 1 },
    error: new RewardError('no', { code }),
  });
  const runs = [failed('JUDGE_FAILED'), failed('SCORER_FORM')] as TaskOutcome['runs'];
  expect(rolloutMetrics([{ ...outcome([]), runs }], 0)).toMatchObject({
    'rollout/runs/failed': 2,
    'rollout/runs/judge_failed': 1,
  });
});
