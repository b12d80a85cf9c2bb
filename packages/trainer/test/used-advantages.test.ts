import { noNeeds, systemClock, withFields } from '@trinity-rft/core';
import { mergeCalls } from '@trinity-rft/core/internal';
import type { Lease } from '@trinity-rft/core/store';
import { fakeEngine } from '@trinity-rft/testing';
import { expect, it } from 'vitest';
import { trainStep } from '../src/step/train-step.js';
import { actorCritic, leaseOf, sample } from './support/fixtures.js';

/**
 * Advantages that a train step passes to `acknowledge` of its lease. `kept` is the action mask that
 * the advantage function returns.
 */
async function recorded(
  experiences: Lease['experiences'],
  kept?: Uint8Array,
): Promise<readonly Float32Array[] | undefined> {
  let seen: readonly Float32Array[] | undefined;
  await trainStep(
    { ...leaseOf(experiences), acknowledge: async (_, advantages) => void (seen = advantages) },
    {
      engine: fakeEngine({ vocabSize: 16 }).trainer,
      algorithm: {
        loss: actorCritic.loss,
        needs: { ...noNeeds, rollouts: true },
        batchAdvantage: ({ rewards }) => ({
          advantages: rewards,
          returns: rewards,
          metrics: {},
          actionMask: kept,
        }),
      },
      optimizer: { learningRate: 0.1 },
      step: 1,
      clock: systemClock,
    },
  );
  return seen;
}

const first = sample(0, { tokenRewards: [1, 2] });
const next = sample(0, {
  eid: { batch: 1, task: 0, run: 0, step: 1 },
  tokens: [...first.tokens, 7, 8],
  promptLength: 4,
  logprobs: [-1],
  tokenRewards: [3],
});

it('tells who keeps the experiences what each token was trained with, also where calls are merged', async () => {
  const alone = sample(1, { tokenRewards: [4, 5] });
  const merged = mergeCalls([first, next]).experiences;
  const plain = (values?: readonly Float32Array[]) => values?.map((own) => [...own]);
  expect(plain(await recorded([...merged, alone]))).toEqual([
    [1, 2, NaN, 3],
    [4, 5],
  ]);
  // Tokens that the advantage function masks, and context, are not trained on.
  const partly = withFields(alone, { actionMask: Uint8Array.of(0, 1) });
  expect(plain(await recorded([...merged, partly], Uint8Array.of(1, 0, 1, 0, 1)))).toEqual([
    [1, NaN, NaN, 3],
    [NaN, 5],
  ]);
});
