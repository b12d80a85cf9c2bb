import { createExperience } from '@trinity-rft/core';
import { expect, it } from 'vitest';
import { identicalGroupShare } from './identical-groups.js';
import type { RunOutcome, TaskOutcome } from '../runs/outcome.js';

/** Outcome with the response tokens of each call of each run; undefined for a failed run. */
function outcome(...runs: readonly (readonly (readonly number[])[] | undefined)[]): TaskOutcome {
  return {
    runs: runs.map(
      (calls, run) =>
        (calls
          ? { status: 'ok', run, experiences: calls.map((response) => experience(response, run)) }
          : { status: 'failed', run }) as RunOutcome,
    ),
  } as Partial<TaskOutcome> as TaskOutcome;
}

/** An experience whose prompt differs by run, as if the agent named the run in it. */
const experience = (
  response: readonly number[],
  run: number,
): ReturnType<typeof createExperience> =>
  createExperience({
    tokens: [90 + run, ...response],
    promptLength: 1,
    logprobs: new Float32Array(response.length),
    policyVersion: 0,
    temperature: 1,
  });

it('counts groups whose runs begin with the same completion, whatever follows and whoever failed', () => {
  const same = outcome([[1, 2], [3]], [[1, 2], [4]], undefined);
  const different = outcome([[1, 2]], [[1, 2]], [[1, 3]]);
  const longer = outcome([[1, 2]], [[1, 2, 3]]);
  expect(identicalGroupShare([same, different, longer, same])).toBe(0.5);
});

it('says nothing about groups of one', () => {
  expect(
    identicalGroupShare([outcome([[1]]), outcome([[1]], undefined), outcome()]),
  ).toBeUndefined();
});
