import { createExperience, type Experience, type LossInput } from '@trinity-rft/core';
import type { AdvantageInput, Algorithm } from '@trinity-rft/core/internal';
import { describe, expect, it } from 'vitest';
import { createAlgorithm, type AlgorithmPreset } from '../src/index.js';
import { algorithmPresets } from '../src/presets/table.js';

const presets = Object.entries<AlgorithmPreset>(algorithmPresets).map(([name, preset]) => ({
  name,
  preset,
}));
const length = 4;
const create = (preset: AlgorithmPreset, more: object = {}): Algorithm =>
  createAlgorithm({ ...preset, lossAggNorm: length, ...more });

interface Numbers {
  readonly reward: (task: number, run: number) => number;
  /** Current log-probability minus sampling log-probability. */
  readonly moved: number;
  readonly trained: (row: number, token: number) => 0 | 1;
}

const ordinary: Numbers = {
  reward: (task, run) => (task + run) % 3,
  moved: 0.1,
  trained: (row, t) => ((row + t) % 4 === 0 ? 0 : 1),
};

function experiencesOf({ reward, trained }: Numbers): readonly Experience[] {
  return [0, 1].flatMap((task) =>
    [0, 1, 2].map((run) => {
      const mask = Array.from({ length }, (_, t) => trained(3 * task + run, t));
      return createExperience({
        tokens: new Int32Array(length + 1),
        promptLength: 1,
        actionMask: mask,
        logprobs: mask.map((bit) => (bit ? -1 - run / 4 : 0)),
        teacherLogprobs: mask.map(() => -1.25),
        reward: reward(task, run),
        info: { env_state_hash: 'start' },
        eid: { batch: 0, task, run },
      });
    }),
  );
}

function packed(
  experiences: readonly Experience[],
): Omit<AdvantageInput, 'rewards'> & { readonly rewards: Float32Array } {
  const size = experiences.length * length;
  return {
    offsets: Int32Array.from({ length: experiences.length + 1 }, (_, i) => i * length),
    actionMask: Uint8Array.from(experiences.flatMap(({ actionMask }) => [...actionMask])),
    rewards: Float32Array.from(experiences.flatMap(({ reward }) => [0, 0, 0, reward!])),
    tasks: Int32Array.from(experiences, ({ eid }) => Number(eid.task)),
    oldLogprobs: Float32Array.from(experiences.flatMap(({ logprobs }) => [...logprobs])),
    values: new Float32Array(size).fill(0.25),
    refLogprobs: new Float32Array(size).fill(-1.5),
    teacherLogprobs: new Float32Array(size).fill(-1.25),
    entropy: new Float32Array(size).fill(0.5),
  };
}

/** The parts of an optimizer step that this package computes: advantages, then the loss. */
function step(
  algorithm: Algorithm,
  numbers: Numbers,
): { readonly output: ReturnType<Algorithm['loss']>; readonly metrics: object } {
  const explored = experiencesOf(numbers);
  const scored = algorithm.advantage?.(explored);
  const rows = scored?.experiences ?? explored;
  const input = packed(rows);
  const computed = algorithm.batchAdvantage?.(input);
  const lossInput: LossInput = {
    ...input,
    actionMask: computed?.actionMask ?? input.actionMask,
    currentLogprobs: input.oldLogprobs.map((logprob) => logprob + numbers.moved),
    advantages:
      computed?.advantages ??
      Float32Array.from(
        rows.flatMap((experience) => [...(experience.advantages ?? new Float32Array(length))]),
      ),
    expertMask: Uint8Array.from(rows, (_, row) => row % 2),
    step: 1,
  };
  return {
    output: algorithm.loss(lossInput),
    metrics: { ...scored?.metrics, ...computed?.metrics },
  };
}

function expectFinite({ output, metrics }: ReturnType<typeof step>): void {
  const numbers = [
    output.loss,
    ...output.gradLogprobs,
    ...(output.gradEntropy ?? []),
    ...Object.values({ ...metrics, ...output.metrics }),
  ];
  expect(numbers.filter((value) => typeof value !== 'number' || !Number.isFinite(value))).toEqual(
    [],
  );
}

describe.each(presets)('the preset $name', ({ preset }) => {
  it('makes a loss and a gradient of runs', () => {
    const result = step(create(preset), ordinary);
    expectFinite(result);
    expect(result.output.gradLogprobs.some((value) => value !== 0)).toBe(true);
  });

  it.each<[string, Partial<Numbers>]>([
    ['rewards that are all equal', { reward: () => 0.1 }],
    ['rewards that are huge', { reward: (_, run) => run * 1e30 }],
    ['answers that became e^100 times as likely', { moved: 100 }],
    ['answers that became e^100 times less likely', { moved: -100 }],
    ['no token to train on', { trained: () => 0 }],
    ['one token to train on', { trained: (row, t) => (row === 0 && t === 2 ? 1 : 0) }],
  ])('stays finite with %s', (_what, numbers) => {
    expectFinite(step(create(preset), { ...ordinary, ...numbers }));
  });

  it('has nothing to do on an empty batch', () => {
    const algorithm = create(preset);
    expect(algorithm.advantage?.([]).experiences ?? []).toEqual([]);
    const none = packed([]);
    expect([...(algorithm.batchAdvantage?.(none).advantages ?? [])]).toEqual([]);
    const empty = {
      ...none,
      currentLogprobs: none.oldLogprobs,
      advantages: none.rewards,
      expertMask: new Uint8Array(0),
      step: 1,
    };
    const { loss, gradLogprobs } = algorithm.loss(empty);
    expect([loss, gradLogprobs.length]).toEqual([0, 0]);
  });
});

const readsRewards = presets.filter(
  ({ preset: { advantageFn } }) =>
    advantageFn && !['ppo', 'on_policy_distill', 'jsd'].includes(advantageFn.name),
);

describe.each(readsRewards)('the preset $name', ({ preset }) => {
  it('names the run whose reward is not a number', () => {
    const experiences = experiencesOf(ordinary).map((experience, i) =>
      i === 4 ? { ...experience, reward: NaN } : experience,
    );
    expect(() => create(preset).advantage!(experiences)).toThrow(
      'Experience 0/1/1/0/ has the reward NaN',
    );
  });
});

describe('a KL penalty', () => {
  const penalised = presets.filter(
    ({ preset }) =>
      preset.advantageFn && !['step_wise_grpo', 'gigpo', 'raft'].includes(preset.advantageFn.name),
  );

  it.each(penalised)('moves the advantages of $name to the train batch', ({ preset }) => {
    const { advantage, batchAdvantage, klPenalty, needs } = create(preset, {
      klPenaltyFn: { name: 'k3', args: { klCoef: 0.1 } },
    });
    expect([advantage, typeof batchAdvantage, klPenalty?.initialCoefficient]).toEqual([
      undefined,
      'function',
      0.1,
    ]);
    expect(needs.referenceLogprobs).toBe(true);
  });

  it.each(['step_wise_grpo', 'gigpo', 'raft'])('is rejected with %s', (name) => {
    const options = {
      advantageFn: { name },
      policyLossFn: { name: 'ppo' },
      klPenaltyFn: { name: 'k3' },
    };
    expect(() => createAlgorithm(options)).toThrow(
      `where the advantage function "${name}" does not run`,
    );
  });

  it('is rejected without rewards', () => {
    expect(() =>
      createAlgorithm({ policyLossFn: { name: 'sft' }, klPenaltyFn: { name: 'k3' } }),
    ).toThrow('Set kl_penalty_fn to none.');
  });

  it('with coefficient 0 leaves everything as it is', () => {
    const { advantage, klPenalty, needs } = create(
      { ...algorithmPresets.rloo, klLossFn: { name: 'none' } },
      {
        klPenaltyFn: { name: 'k3', args: { klCoef: 0 } },
      },
    );
    expect([typeof advantage, klPenalty, needs.referenceLogprobs]).toEqual([
      'function',
      undefined,
      false,
    ]);
  });
});
