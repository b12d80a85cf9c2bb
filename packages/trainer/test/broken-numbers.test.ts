import { type Experience, noNeeds, systemClock, withFields } from '@trinity-rft/core';
import type { TrainEngine } from '@trinity-rft/core/engine';
import type { Algorithm } from '@trinity-rft/core/internal';
import { fakeEngine, fakeValueEngine } from '@trinity-rft/testing';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { trainStep, type TrainStepOptions } from '../src/step/train-step.js';
import { actorCritic, leaseOf, sample } from './support/fixtures.js';

const optimizer = { learningRate: 0.1 };
const nan = Float32Array.of(0, 0, 0, Number.NaN);
const where = 'of experience 1/0/1/0/, response token 1, is';

/**
 * Makes a train step, by default with two rows. Returns the result, and whether a weight has
 * changed.
 */
async function attempt(
  over: Partial<TrainStepOptions>,
  rows: readonly Experience[] = [sample(0), sample(1)],
) {
  const [engine, critic] = [fakeEngine({ vocabSize: 8 }), fakeValueEngine({ vocabSize: 8 })];
  const before = [engine.weights(), critic.weights()];
  const lines: string[] = [];
  const options = {
    engine: engine.trainer,
    critic: { engine: critic, optimizer },
    algorithm: actorCritic,
    optimizer,
    step: 1,
    clock: systemClock,
  };
  const outcome = await trainStep(leaseOf(rows, lines), { ...options, ...over }).then(
    ({ metrics }) => metrics,
    (error: Error) => error,
  );
  const moved = JSON.stringify([engine.weights(), critic.weights()]) !== JSON.stringify(before);
  return { outcome, lines, moved };
}

const engineThat = (over: Partial<TrainEngine>): TrainEngine => ({
  ...fakeEngine({ vocabSize: 8 }).trainer,
  ...over,
});

const cases: readonly (readonly [string, () => Partial<TrainStepOptions>, string])[] = [
  [
    'a log-probability',
    () => ({
      engine: engineThat({
        forward: async (batch) => ({ batch, offsets: Int32Array.of(0, 2, 4), logprobs: nan }),
      }),
    }),
    `The log-probability ${where} NaN`,
  ],
  [
    'a log-probability by the reference',
    () => {
      const { forward } = engineThat({});
      return {
        engine: engineThat({
          forward: async (batch, options) =>
            options?.weights === 'reference'
              ? { batch, offsets: Int32Array.of(0, 2, 4), logprobs: nan }
              : forward(batch, options),
        }),
      };
    },
    `The log-probability by the reference ${where} NaN`,
  ],
  [
    'a value',
    () => ({
      critic: {
        engine: {
          ...fakeValueEngine({ vocabSize: 8 }),
          forward: async (batch) => ({ batch, offsets: Int32Array.of(0, 2, 4), values: nan }),
        },
        optimizer,
      },
    }),
    `The value ${where} NaN`,
  ],
  [
    'a penalised reward',
    () => ({
      algorithm: {
        ...actorCritic,
        klPenalty: {
          initialCoefficient: 1,
          adaptive: true,
          apply: () => ({ rewards: nan, nextCoefficient: 1, metrics: {} }),
        },
      },
    }),
    `The reward after the KL penalty ${where} NaN`,
  ],
  [
    'the next coefficient',
    () => ({
      algorithm: {
        ...actorCritic,
        klPenalty: {
          initialCoefficient: 1,
          adaptive: true,
          apply: ({ rewards }) => ({ rewards, nextCoefficient: Infinity, metrics: {} }),
        },
      },
    }),
    'The KL penalty asks for the coefficient Infinity',
  ],
  [
    'an advantage',
    () => ({
      algorithm: {
        ...actorCritic,
        batchAdvantage: ({ rewards }) => ({ advantages: nan, returns: rewards, metrics: {} }),
      },
    }),
    `The advantage ${where} NaN`,
  ],
  [
    'a return',
    () => ({
      algorithm: {
        ...actorCritic,
        batchAdvantage: ({ rewards }) => ({ advantages: rewards, returns: nan, metrics: {} }),
      },
    }),
    `The return ${where} NaN`,
  ],
  [
    'a gradient of the loss',
    () => ({
      algorithm: { ...actorCritic, loss: () => ({ loss: 0, gradLogprobs: nan, metrics: {} }) },
    }),
    `The loss gradient ${where} NaN`,
  ],
  [
    'a gradient of the value',
    () => ({
      algorithm: { ...actorCritic, valueLoss: () => ({ loss: 0, gradValues: nan, metrics: {} }) },
    }),
    `The gradient of the value ${where} NaN`,
  ],
  [
    'the loss',
    () => ({
      algorithm: {
        ...actorCritic,
        loss: () => ({ loss: Infinity, gradLogprobs: new Float32Array(4), metrics: {} }),
      },
    }),
    'The loss of the batch is Infinity',
  ],
  [
    'the loss of the critic',
    () => ({
      algorithm: {
        ...actorCritic,
        valueLoss: () => ({ loss: Number.NaN, gradValues: new Float32Array(4), metrics: {} }),
      },
    }),
    'The loss of the critic of the batch is NaN',
  ],
];

describe('a number that is not finite', () => {
  it.each(cases)(
    'stops the step before any weight moves, and is named: %s',
    async (_what, over, message) => {
      const { outcome, lines, moved } = await attempt(over());
      expect(outcome).toMatchObject({ message: expect.stringContaining(message) as unknown });
      expect([lines, moved]).toEqual([['given back'], false]);
    },
  );

  it.each([
    ['reward', { reward: Number.NaN }, 'reward is NaN'],
    [
      'tokenRewards',
      { tokenRewards: Float32Array.of(0, Infinity) },
      'tokenRewards holds Infinity at response token 1',
    ],
    [
      'teacherLogprobs',
      { teacherLogprobs: Float32Array.of(0, Number.NaN) },
      'teacherLogprobs holds NaN at response token 1',
    ],
    [
      'logprobs',
      { logprobs: Float32Array.of(-Infinity, -1) },
      'logprobs holds -Infinity at response token 0',
    ],
  ])('is rejected, naming its experience: %s', async (_field, fields, message) => {
    const { outcome, moved } = await attempt({}, [
      sample(0),
      withFields(sample(1), fields as Partial<Experience>),
    ]);
    expect(outcome).toMatchObject({
      message: expect.stringContaining(`Experience 1/0/1/0/: ${message}`) as unknown,
    });
    expect(moved).toBe(false);
  });

  it('has no influence where nothing is trained', async () => {
    const rows = [sample(0), sample(1, { actionMask: [1, 0] })];
    const inner = fakeEngine({ vocabSize: 8 }).trainer;
    const engine: TrainEngine = {
      ...inner,
      forward: async (batch, options) => {
        const pass = await inner.forward(batch, options);
        pass.logprobs[3] = Number.NaN;
        return pass;
      },
    };
    const algorithm: Algorithm = {
      needs: { ...noNeeds, rollouts: true },
      batchAdvantage: ({ rewards }) => ({ advantages: rewards, returns: rewards, metrics: {} }),
      loss: ({ actionMask }) => ({
        loss: 0,
        gradLogprobs: Float32Array.from(actionMask),
        metrics: {},
      }),
    };
    const { metrics } = await trainStep(leaseOf(rows), {
      engine,
      algorithm,
      optimizer,
      step: 1,
      clock: systemClock,
    });
    expect(metrics['actor/update_skipped']).toBe(0);
  });
});

describe('a batch without a trained token', () => {
  it.each([
    ['empty', []],
    ['all masked', [sample(0, { actionMask: [0, 0] }), sample(1, { actionMask: [0, 0] })]],
  ])('is used up and moves nothing: %s', async (_what, rows) => {
    const { outcome, lines, moved } = await attempt({}, rows);
    expect(outcome).toMatchObject({ 'actor/update_skipped': 1 });
    expect([lines, moved]).toEqual([['used by 1'], false]);
    for (const value of Object.values(outcome as object)) expect(value).toSatisfy(Number.isFinite);
  });

  it('does not hide one: any mix of masked and trained tokens gives finite metrics', async () => {
    const masks = fc.array(fc.tuple(fc.boolean(), fc.boolean()), { minLength: 1, maxLength: 5 });
    await fc.assert(
      fc.asyncProperty(masks, async (rows) => {
        const { outcome } = await attempt(
          {},
          rows.map((actionMask, run) => sample(run, { actionMask })),
        );
        const trained = rows.flat().includes(true);
        expect((outcome as Record<string, number>)['actor/update_skipped']).toBe(trained ? 0 : 1);
        for (const value of Object.values(outcome as object))
          expect(value).toSatisfy(Number.isFinite);
      }),
      { numRuns: 50 },
    );
  });
});

describe('an experience that lacks something', () => {
  const { reward: _, ...scoreless } = sample(1);
  const distilled: Algorithm = {
    ...actorCritic,
    needs: { ...actorCritic.needs, teacherLogprobs: true },
  };

  it('is named: a reward', async () => {
    expect((await attempt({}, [sample(0), scoreless])).outcome).toMatchObject({
      code: 'REWARD_MISSING',
      details: { uid: '1/0/1/0/' },
    });
  });

  it('is named: the reward of the greedy answer', async () => {
    const algorithm: Algorithm = {
      ...actorCritic,
      needs: { ...actorCritic.needs, rewardBaselines: true },
    };
    const rows = [sample(0, { info: { reward_baseline: 0.5 } }), sample(1)];
    expect((await attempt({ algorithm }, rows)).outcome).toMatchObject({
      code: 'REWARD_BASELINE_MISSING',
      details: { uid: '1/0/1/0/' },
    });
  });

  it('is named: what a teacher says, and then no reward is needed', async () => {
    const teacherLogprobs = Float32Array.of(-1, -1);
    const taught = [withFields(sample(0), { teacherLogprobs }), scoreless];
    expect((await attempt({ algorithm: distilled }, taught)).outcome).toMatchObject({
      code: 'TEACHER_MISSING',
      details: { uid: '1/0/1/0/' },
    });
    const all = [withFields(sample(0), { teacherLogprobs }), { ...scoreless, teacherLogprobs }];
    expect((await attempt({ algorithm: distilled }, all)).outcome).toMatchObject({
      'actor/update_skipped': 0,
    });
  });
});

describe('pairs', () => {
  const pair = (task: number, prompt = 1) =>
    [0, 1].map((run) =>
      sample(run, { eid: { batch: 'pairs', task, run }, tokens: [prompt, 2 + run, 3] }),
    );
  const algorithm: Algorithm = {
    needs: { ...noNeeds, pairs: true },
    loss: ({ actionMask }) => ({
      loss: 0,
      gradLogprobs: Float32Array.from(actionMask),
      metrics: {},
    }),
  };
  const train = (rows: readonly Experience[]) =>
    trainStep(leaseOf(rows), {
      engine: fakeEngine({ vocabSize: 8 }).trainer,
      algorithm,
      optimizer,
      step: 1,
      clock: systemClock,
    });

  it('are trained on as they come', async () => {
    expect((await train([...pair(0), ...pair(1)])).metrics['actor/update_skipped']).toBe(0);
  });

  it.each([
    ['half a pair', [...pair(0), pair(1)[0]!], 'pairs/1/0/0/'],
    ['a pair torn apart', [pair(0)[0]!, pair(1)[0]!, pair(0)[1]!, pair(1)[1]!], 'pairs/0/0/0/'],
    ['answers to different prompts', [pair(0, 1)[0]!, pair(0, 2)[1]!], 'pairs/0/0/0/'],
  ])('are whole, or the first row of the torn one is named: %s', async (_what, rows, uid) => {
    await expect(train(rows)).rejects.toMatchObject({ code: 'PAIR_SPLIT', details: { uid } });
  });
});
