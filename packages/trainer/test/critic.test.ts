import {
  type Experience,
  type LossInput,
  noNeeds,
  systemClock,
  withFields,
} from '@trinity-rft/core';
import { mergeCalls, type Algorithm } from '@trinity-rft/core/internal';
import { fakeEngine, fakeValueEngine } from '@trinity-rft/testing';
import { describe, expect, it } from 'vitest';
import { trainStep, type TrainStepOptions } from '../src/step/train-step.js';
import { actorCritic, leaseOf, sample } from './support/fixtures.js';

const optimizer = { learningRate: 0.1 };

function setUp(over: Partial<TrainStepOptions> = {}) {
  const engine = fakeEngine({ vocabSize: 8 });
  const critic = fakeValueEngine({ vocabSize: 8 });
  const options: TrainStepOptions = {
    engine: engine.trainer,
    critic: { engine: critic, optimizer },
    algorithm: actorCritic,
    optimizer,
    step: 1,
    clock: systemClock,
    ...over,
  };
  return { engine, critic, options };
}

/** Algorithm without a critic, whose advantages are computed from the batch. */
const fromBatch = (over: Partial<Algorithm>): Algorithm => ({
  loss: actorCritic.loss,
  batchAdvantage: ({ rewards }) => ({ advantages: rewards, returns: rewards, metrics: {} }),
  ...over,
  needs: { ...noNeeds, rollouts: true, ...over.needs },
});

/** Makes a train step, and returns the input that the loss of `algorithm` received. */
async function lossInput(
  algorithm: Algorithm,
  experiences: readonly Experience[],
): Promise<LossInput> {
  let seen: LossInput | undefined;
  const spying = {
    ...algorithm,
    loss: (input: LossInput) => ((seen = input), algorithm.loss(input)),
  };
  await trainStep(leaseOf(experiences), {
    engine: fakeEngine({ vocabSize: 16 }).trainer,
    algorithm: spying,
    optimizer,
    step: 3,
    clock: systemClock,
  });
  return seen!;
}

const batch = [0, 1, 2, 3].map((run) => sample(run));

describe('a step with a critic', () => {
  it('moves both models and says how the critic did', async () => {
    const { engine, critic, options } = setUp();
    const [before, valuesBefore] = [engine.weights(), critic.weights()];
    const { metrics } = await trainStep(leaseOf(batch), options);
    expect(engine.weights()).not.toEqual(before);
    expect(critic.weights()).not.toEqual(valuesBefore);
    expect(metrics).toMatchObject({
      'critic/score/mean': 0.5,
      'critic/seen': 8,
      'critic/lr': 0.1,
      'critic/update_skipped': 0,
      'actor/update_skipped': 0,
      'critic/kl_coef': 0.1,
    });
    for (const name of [
      'vf_loss',
      'grad_norm',
      'values/mean',
      'returns/max',
      'advantages/min',
      'vf_explained_var',
      'rewards/mean',
    ])
      expect([name, metrics[`critic/${name}`]]).toEqual([name, expect.any(Number)]);
    expect(metrics['critic/rewards/mean']).not.toBe(metrics['critic/score/mean']);
  });

  it('teaches the critic the returns', async () => {
    const { critic, options } = setUp({ algorithm: { ...actorCritic, klPenalty: undefined! } });
    let last = Infinity;
    for (let step = 1; step <= 60; step++) {
      const { metrics } = await trainStep(leaseOf(batch), { ...options, step });
      last = metrics['critic/vf_loss']!;
    }
    // Tokens 1 and 2 are followed by both rewards, 0 and 1, so in six of the eight states the
    // critic can only predict 0.5. The mean squared error is 6 / 8 of the variance, 1 / 4.
    expect(last).toBeCloseTo((6 / 8) * 0.25 * 0.5, 3);
    expect([1, 2, 3, 4].map((token) => critic.weights()[token]!.toFixed(1))).toEqual([
      '0.5',
      '0.5',
      '1.0',
      '0.0',
    ]);
  });

  it('learns nothing from rows of experts, which the policy imitates', async () => {
    const { critic, options } = setUp();
    const expert = sample(4, { tokens: [1, 5, 6], info: { is_expert: true } });
    await trainStep(leaseOf([...batch, expert]), options);
    const learned = critic.weights();
    const without = setUp();
    await trainStep(leaseOf(batch), without.options);
    expect(learned).toEqual(without.critic.weights());
  });

  it('has no say about masked tokens: they are worth what comes next', async () => {
    let seen: readonly number[] = [];
    const spying: Algorithm = {
      ...actorCritic,
      batchAdvantage: (input) => ((seen = [...input.values!]), actorCritic.batchAdvantage!(input)),
    };
    const { critic, options } = setUp({ algorithm: spying });
    const row = sample(0, {
      tokens: [1, 2, 3, 4, 5, 6],
      logprobs: [-1, -1, -1, -1, -1],
      actionMask: [0, 1, 0, 1, 0],
    });
    const values = Float32Array.from(critic.weights());
    await trainStep(leaseOf([row, sample(1)]), options);
    expect(seen.slice(0, 5)).toEqual([values[2], values[2], values[4], values[4], 0]);
    expect(seen.slice(5)).toEqual([values[1], values[3]]);
  });

  it('leaves the policy alone before critic_warmup', async () => {
    const { engine, critic, options } = setUp();
    const warm = { ...options, critic: { ...options.critic!, warmupSteps: 3 } };
    const before = engine.weights();
    for (const step of [1, 2]) {
      const values = critic.weights();
      const { metrics } = await trainStep(leaseOf(batch), { ...warm, step });
      expect(engine.weights()).toEqual(before);
      expect(critic.weights()).not.toEqual(values);
      expect(metrics['actor/grad_norm']).toBeUndefined();
    }
    await trainStep(leaseOf(batch), { ...warm, step: 3 });
    expect(engine.weights()).not.toEqual(before);
  });

  it('gives the lease back when the critic cannot be asked', async () => {
    const { critic, options, engine } = setUp();
    const [lines, before] = [[] as string[], engine.weights()];
    critic.failNext('forward', new Error('no room'));
    await expect(trainStep(leaseOf(batch, lines), options)).rejects.toThrow('no room');
    expect([lines, engine.weights()]).toEqual([['given back'], before]);
  });

  it('fails with its own error if the lease cannot be released either', async () => {
    const { critic, options } = setUp();
    critic.failNext('forward', new Error('no room'));
    const release = () => Promise.reject(new Error('database is locked'));
    await expect(trainStep({ ...leaseOf(batch), release }, options)).rejects.toThrow('no room');
  });

  it('is rejected where the algorithm does not use one, and required where it does', async () => {
    const { options } = setUp({ algorithm: fromBatch({}) });
    await expect(trainStep(leaseOf(batch), options)).rejects.toThrow('does not use a critic');
    const { critic: _, ...without } = setUp().options;
    await expect(trainStep(leaseOf(batch), without)).rejects.toThrow('needs a critic');
  });
});

describe('the penalty', () => {
  it('starts with its own coefficient and hands the next one on', async () => {
    const { options } = setUp();
    const first = await trainStep(leaseOf(batch), options);
    expect([
      first.metrics['critic/kl_coef'],
      [0.05, 0.2].includes(first.state.klCoefficient!),
    ]).toEqual([0.1, true]);
    const second = await trainStep(leaseOf(batch), { ...options, step: 2, state: first.state });
    expect(second.metrics['critic/kl_coef']).toBe(first.state.klCoefficient);
  });

  it('with a constant coefficient uses that of the configuration, whatever a checkpoint has', async () => {
    const klPenalty = { ...actorCritic.klPenalty!, adaptive: false, initialCoefficient: 0.3 };
    const { options } = setUp({ algorithm: { ...actorCritic, klPenalty } });
    const { metrics, state } = await trainStep(leaseOf(batch), {
      ...options,
      state: { klCoefficient: 0.001 },
    });
    expect([metrics['critic/kl_coef'], state]).toEqual([0.3, {}]);
  });
});

describe('advantages from the batch', () => {
  it('need no stored ones, and see the reward of a call on its last token, or that of each token', async () => {
    const rows = [
      sample(0, { reward: 4, actionMask: [1, 0] }),
      sample(1, { tokenRewards: [2, 3] }),
    ];
    expect((await lossInput(fromBatch({}), rows)).advantages).toEqual(Float32Array.of(0, 4, 2, 3));
  });

  it('see the calls of a merged run as rows with rewards of their own', async () => {
    const call = (step: number, tokens: readonly number[], promptLength: number): Experience =>
      sample(0, {
        eid: { batch: 1, task: 0, run: 0, step },
        tokens,
        promptLength,
        logprobs: tokens.slice(promptLength).map(() => -1),
        reward: step + 1,
      });
    const calls = [call(0, [1, 2, 3, 4], 2), call(1, [1, 2, 3, 4, 5, 6, 7], 5)];
    const merged = mergeCalls(calls).experiences;
    expect(merged).toHaveLength(1);
    const [one, all] = await Promise.all([
      lossInput(fromBatch({}), calls),
      lossInput(fromBatch({}), merged),
    ]);
    expect(all).toEqual(one);
    expect(all.advantages).toEqual(Float32Array.of(0, 1, 0, 2));
  });

  it('see the step of each call, and need the reward of each, also where calls are merged', async () => {
    const call = (step: number, tokens: readonly number[], reward?: number): Experience => {
      const { reward: _, ...rest } = sample(0, {
        eid: { batch: 1, task: 0, run: 0, step },
        tokens,
        promptLength: tokens.length - 1,
        logprobs: [-1],
      });
      return reward === undefined ? rest : { ...rest, reward };
    };
    const steps: number[][] = [];
    const algorithm = fromBatch({
      batchAdvantage: (input) => (
        steps.push([...input.steps!]),
        { advantages: input.rewards, returns: input.rewards, metrics: {} }
      ),
    });
    const calls = [call(0, [1, 2, 3], 0), call(1, [9, 9, 9], 0), call(2, [1, 2, 3, 4, 5], 1)];
    await lossInput(algorithm, mergeCalls(calls).experiences);
    expect(steps).toEqual([[0, 2, 1]]);
    const partly = [call(0, [1, 2, 3]), ...calls.slice(1)];
    for (const experiences of [partly, mergeCalls(partly).experiences])
      await expect(lossInput(algorithm, experiences)).rejects.toMatchObject({
        code: 'REWARD_MISSING',
      });
  });

  it('are told which rows belong to one task', async () => {
    const tasks: number[][] = [];
    const algorithm = fromBatch({
      batchAdvantage: (input) => (
        tasks.push([...input.tasks]),
        { advantages: input.rewards, returns: input.rewards, metrics: {} }
      ),
    });
    const of = (batchId: number, task: number): Experience =>
      sample(0, { eid: { batch: batchId, task } });
    await lossInput(algorithm, [of(1, 0), of(1, 1), of(2, 0), of(1, 0)]);
    expect(tasks).toEqual([[0, 1, 2, 0]]);
  });

  it('see the baselines that workflows wrote, when all of them did', async () => {
    const seen: unknown[] = [];
    const algorithm = fromBatch({
      batchAdvantage: ({ rewardBaselines, rewards }) => (
        seen.push(rewardBaselines),
        { advantages: rewards, returns: rewards, metrics: {} }
      ),
    });
    const of = (run: number): Experience => sample(run, { info: { reward_baseline: run } });
    await lossInput(algorithm, [of(0), of(1)]);
    await lossInput(algorithm, [of(0), sample(1)]);
    expect(seen).toEqual([Float32Array.of(0, 1), undefined]);
  });

  it('may take tokens out, and none in', async () => {
    const masking = (mask: readonly number[]): Algorithm =>
      fromBatch({
        batchAdvantage: ({ rewards }) => ({
          advantages: rewards,
          returns: rewards,
          actionMask: Uint8Array.from(mask),
          metrics: {},
        }),
      });
    const rows = [sample(0, { actionMask: [1, 0] }), sample(1)];
    expect((await lossInput(masking([1, 0, 0, 1]), rows)).actionMask).toEqual(
      Uint8Array.of(1, 0, 0, 1),
    );
    await expect(lossInput(masking([1, 1, 0, 1]), rows)).rejects.toMatchObject({
      code: 'MASK_GREW',
    });
    await expect(lossInput(masking([1, 0]), rows)).rejects.toMatchObject({ code: 'MASK_GREW' });
  });

  it('count the groups of which the batch holds only a part', async () => {
    const { metrics } = await trainStep(
      leaseOf(
        [0, 1, 2].map((run) => sample(run)).concat(sample(0, { eid: { batch: 1, task: 7 } })),
      ),
      {
        engine: fakeEngine({ vocabSize: 8 }).trainer,
        algorithm: fromBatch({}),
        optimizer,
        step: 1,
        repeatTimes: 3,
        clock: systemClock,
      },
    );
    expect(metrics['sample/partial_group_count']).toBe(1);
  });
});

describe('rows of experts', () => {
  const expert = withFields(sample(9, { info: { is_expert: true } }), {
    logprobs: new Float32Array(2),
    temperature: 0,
  });
  const { reward: _, ...demonstration } = expert;
  const algorithm = fromBatch({
    needs: { ...noNeeds, rollouts: true, expertMask: true },
    batchAdvantage: ({ actionMask, rewards }) => ({
      advantages: Float32Array.from(actionMask),
      returns: rewards,
      actionMask: actionMask.map((bit, i) => (i === 0 ? 0 : bit)),
      metrics: {},
    }),
  });

  it('are trained on and marked, but nothing is estimated from them', async () => {
    const input = await lossInput(algorithm, [sample(0), demonstration]);
    expect([input.expertMask, input.actionMask, input.advantages]).toEqual([
      Uint8Array.of(0, 1),
      Uint8Array.of(0, 1, 1, 1),
      Float32Array.of(1, 1, 0, 0),
    ]);
    expect(input.step).toBe(3);
  });

  it('change neither the penalty nor the advantages of rollouts, nor the metrics of either', async () => {
    const { klPenalty, needs } = actorCritic;
    const step = (experiences: readonly Experience[]) =>
      trainStep(leaseOf(experiences), {
        ...setUp({ algorithm: { ...actorCritic, needs: { ...needs, expertMask: true } } }).options,
        repeatTimes: 4,
      });
    const other = withFields(demonstration, { eid: { ...demonstration.eid, task: 5 } });
    const mixed = [demonstration, batch[0]!, other, ...batch.slice(1)];
    const [alone, beside] = [await step(batch), await step(mixed)];
    expect(beside.state).toEqual(alone.state);
    const names = Object.keys(alone.metrics).filter((name) =>
      /^critic\/(kl|advantages|returns|values|score|rewards|vf_explained)|^sample\/(zero|partial)/.test(
        name,
      ),
    );
    expect(names.length).toBeGreaterThan(18);
    for (const name of names)
      expect([name, beside.metrics[name]]).toEqual([name, alone.metrics[name]]);

    const seen = await lossInput(
      fromBatch({ klPenalty, needs: { ...noNeeds, referenceLogprobs: true } }),
      mixed,
    );
    const own = await lossInput(
      fromBatch({ klPenalty, needs: { ...noNeeds, referenceLogprobs: true } }),
      batch,
    );
    const [first, ...rest] = [0, 2, 4, 6].map((at) => [...own.advantages.subarray(at, at + 2)]);
    expect([...seen.advantages]).toEqual([0, 0, ...first!, 0, 0, ...rest.flat()]);
  });

  it('do not count when sampler and trainer are compared', async () => {
    const { metrics } = await trainStep(leaseOf([demonstration]), {
      engine: fakeEngine({ vocabSize: 8 }).trainer,
      algorithm,
      optimizer,
      step: 1,
      clock: systemClock,
    });
    expect(metrics['training/rollout_logprobs_diff_mean']).toBeUndefined();
    expect(metrics['sample/expert_count']).toBe(1);
  });
});
