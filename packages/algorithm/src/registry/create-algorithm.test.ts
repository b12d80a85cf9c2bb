import { ConfigError, type LossInput, EngineError, InvariantError } from '@trinity-rft/core';
import { describe, expect, it } from 'vitest';
import { createAlgorithm, type AlgorithmOptions } from './create-algorithm.js';
import { algorithmPresets } from '../presets/table.js';
import type { AlgorithmPreset } from '../parts/preset.js';

const ppo = { advantageFn: { name: 'grpo' }, policyLossFn: { name: 'ppo' } } as const;

const input = (fields: Partial<LossInput> = {}): LossInput => ({
  offsets: Int32Array.of(0, 2, 3),
  actionMask: Uint8Array.of(1, 0, 1),
  currentLogprobs: Float32Array.of(-1, -1, -2),
  oldLogprobs: Float32Array.of(-1, 0, -2),
  advantages: Float32Array.of(1, 0, -1),
  refLogprobs: Float32Array.of(-1.5, -1, -2),
  entropy: Float32Array.of(0.5, 0.5, 1),
  step: 1,
  ...fields,
});

describe('createAlgorithm', () => {
  it('adds the terms and their gradients', () => {
    const parts: AlgorithmOptions = {
      ...ppo,
      klLossFn: { name: 'k2', args: { klCoef: 0.1 } },
      entropyLossFn: { name: 'default', args: { entropyCoef: 0.01 } },
    };
    const { loss, gradLogprobs, gradEntropy, metrics } = createAlgorithm(parts).loss(input());
    // pg: mean(-1, 1) = 0; k2: mean(0.125, 0) = 0.0625; entropy: mean(0.5, 1) = 0.75.
    expect(loss).toBeCloseTo(0.1 * 0.0625 - 0.01 * 0.75, 7);
    expect([...gradLogprobs].map((value) => value.toFixed(5))).toEqual([
      '-0.47500',
      '0.00000',
      '0.50000',
    ]);
    expect([...gradEntropy!].map((value) => value.toFixed(5))).toEqual([
      '-0.00500',
      '0.00000',
      '-0.00500',
    ]);
    expect(Object.keys(metrics).toSorted()).toEqual([
      'entropy_loss',
      'final_loss',
      'kl_coef',
      'kl_loss',
      'pg_clipfrac',
      'pg_clipfrac_lower',
      'pg_loss',
      'ppo_kl',
    ]);
    expect(metrics).toMatchObject({ final_loss: loss, kl_coef: 0.1 });
    expect(metrics['kl_loss']).toBeCloseTo(0.0625, 7);
    expect(metrics['entropy_loss']).toBeCloseTo(0.75, 7);
  });

  it('reads no ratio from the placeholder log-probabilities of demonstrations', () => {
    const batch = input({
      oldLogprobs: new Float32Array(3),
      expertMask: Uint8Array.of(1, 1),
    });
    const [plain, corrected] = ['k3', 'corrected_k3'].map((name) =>
      createAlgorithm({
        advantageFn: { name: 'grpo' },
        policyLossFn: { name: 'mix', args: { normalization: 'kinds' } },
        klLossFn: { name, args: { klCoef: 1 } },
      }).loss(batch),
    );
    expect(corrected).toEqual(plain);
  });

  it.each([
    [
      'k2 with its default coefficient',
      { ...ppo, klLossFn: { name: 'k2' } },
      { referenceLogprobs: true },
    ],
    [
      'k2 with coefficient 0',
      { ...ppo, klLossFn: { name: 'k2', args: { klCoef: 0 } } },
      { referenceLogprobs: false },
    ],
    [
      'no KL',
      { ...ppo, klLossFn: { name: 'none', args: { klCoef: 0.1 } } },
      { referenceLogprobs: false },
    ],
    [
      'entropy with coefficient 0',
      { ...ppo, entropyLossFn: { name: 'default' } },
      { entropy: 'metric' },
    ],
    [
      'entropy with a coefficient',
      { ...ppo, entropyLossFn: { name: 'default', args: { entropyCoef: 0.1 } } },
      { entropy: 'gradient' },
    ],
    [
      'no entropy',
      { ...ppo, entropyLossFn: { name: 'none', args: { entropyCoef: 0.1 } } },
      { entropy: 'none' },
    ],
    ['ppo', ppo, { rollouts: true, valueHead: false }],
    ['sft', { policyLossFn: { name: 'sft' } }, { rollouts: false }],
    [
      'a critic',
      { ...ppo, advantageFn: { name: 'ppo' } },
      { valueHead: true, teacherLogprobs: false },
    ],
    [
      'a teacher',
      { ...ppo, advantageFn: { name: 'jsd' } },
      { teacherLogprobs: true, rollouts: true },
    ],
    [
      'greedy answers',
      { ...ppo, advantageFn: { name: 'remax' } },
      { rewardBaselines: true, teacherLogprobs: false },
    ],
    [
      'pairs',
      { policyLossFn: { name: 'dpo' } },
      { pairs: true, referenceLogprobs: true, rollouts: false },
    ],
    ['experts', { ...ppo, policyLossFn: { name: 'mix' } }, { expertMask: true, rollouts: true }],
    ['a KL penalty', { ...ppo, klPenaltyFn: { name: 'k1' } }, { referenceLogprobs: true }],
    [
      'an advantage that reads entropies',
      { ...ppo, advantageFn: { name: 'clipv' } },
      { entropy: 'value', necs: true },
    ],
    [
      'an advantage that reads entropies with a loss that differentiates them',
      {
        ...ppo,
        advantageFn: { name: 'clipb' },
        entropyLossFn: { name: 'default', args: { entropyCoef: 0.1 } },
      },
      { entropy: 'gradient' },
    ],
    [
      'sft on selected runs',
      { policyLossFn: { name: 'sft' }, advantageFn: { name: 'grpo' } },
      { rollouts: true },
    ],
  ] as [string, AlgorithmOptions, object][])('says what %s needs', (_name, options, needs) => {
    expect(createAlgorithm(options).needs).toMatchObject(needs);
  });

  it.each([
    [
      { ...ppo, policyLossFn: { name: 'pppo' } },
      'There is no policy loss "pppo". Did you mean "ppo"? Known: ppo, ',
    ],
    [
      { ...ppo, advantageFn: { name: 'stepwise_grpo' } },
      'There is no advantage function "stepwise_grpo". Did you mean "step_wise_grpo"?',
    ],
    [{ ...ppo, klLossFn: { name: 'k4' } }, 'There is no KL loss "k4".'],
    [{ ...ppo, entropyLossFn: { name: 'mixed' } }, 'There is no entropy loss "mixed".'],
    [
      { ...ppo, lossAggMode: 'token_mean' as 'token-mean' },
      'There is no loss_agg_mode "token_mean". Did you mean "token-mean"?',
    ],
    [
      { ...ppo, policyLossFn: { name: 'ppo', args: { clipRang: 0.1 } } },
      'There is no argument "clipRang" of policy loss "ppo". Did you mean "clipRange"?',
    ],
    [
      { ...ppo, policyLossFn: { name: 'ppo', args: { clipRatioC: 1 } } },
      'The argument "clipRatioC" of policy loss "ppo" is 1; expected a number > 1.',
    ],
    [
      { ...ppo, advantageFn: { name: 'grpo', args: { duplicateExperiences: true } } },
      'Set "stdThreshold" too.',
    ],
    [
      { ...ppo, klLossFn: { name: 'k2', args: { adaptive: true, targetKl: 1, horizon: 10 } } },
      'Remove "adaptive"',
    ],
    [
      { policyLossFn: { name: 'ppo' } },
      'The policy loss "ppo" needs advantages, and there is no advantage function. Choose one of grpo, step_wise_grpo, ',
    ],
  ] as [AlgorithmOptions, string][])('rejects %j', (options, message) => {
    expect(() => createAlgorithm(options)).toThrow(message);
    expect(() => createAlgorithm(options)).toThrow(ConfigError);
  });

  it('has a loss for the critic where there is one', () => {
    expect(createAlgorithm(ppo).valueLoss).toBeUndefined();
    const { valueLoss } = createAlgorithm({
      ...ppo,
      advantageFn: { name: 'ppo' },
      valueLoss: { cliprangeValue: 0.1 },
    });
    const [offsets, actionMask] = [Int32Array.of(0, 1), Uint8Array.of(1)];
    // The clipped value is 0.1 above the old one. Its loss 0.5 * (0.1 - 1)^2 exceeds 0.5 * (0.5 - 1)^2,
    // and does not depend on the value.
    const { loss, gradValues } = valueLoss!({
      offsets,
      actionMask,
      values: Float32Array.of(0.5),
      oldValues: Float32Array.of(0),
      returns: Float32Array.of(1),
    });
    expect([loss, Math.abs(gradValues[0]!)]).toEqual([expect.closeTo(0.405, 5), 0]);
    expect(() =>
      createAlgorithm({ ...ppo, advantageFn: { name: 'ppo' }, valueLoss: { cliprangeValue: -1 } }),
    ).toThrow('The argument "cliprangeValue" of value loss is -1; expected a number >= 0.');
  });

  it('divides the sums of rows by a constant, when asked to', () => {
    const summed = { ...ppo, lossAggMode: 'seq-mean-token-sum' } as const;
    const moved = input({ advantages: Float32Array.of(1, 0, -3) });
    expect(createAlgorithm(summed).loss(moved).loss).toBeCloseTo(1, 6);
    expect(createAlgorithm({ ...summed, lossAggNorm: 8 }).loss(moved).loss).toBeCloseTo(1 / 8, 6);
  });

  it('takes null for an argument that is left at its default', () => {
    expect(() =>
      createAlgorithm({
        ...ppo,
        advantageFn: { name: 'grpo', args: { stdThreshold: null, rankPenalty: null } },
      }),
    ).not.toThrow();
  });

  it.each(Object.entries<AlgorithmPreset>(algorithmPresets))(
    'makes the preset %s',
    (_name, preset) => {
      const { needs, advantage, batchAdvantage } = createAlgorithm({ ...preset, lossAggNorm: 8 });
      expect(needs.rollouts).toBe(preset.schema === 'experience');
      expect([advantage, batchAdvantage].filter((each) => each !== undefined)).toHaveLength(
        preset.schema === 'experience' ? 1 : 0,
      );
      expect(needs.pairs).toBe(preset.schema === 'dpo');
    },
  );
});

describe('the loss of an algorithm', () => {
  const { loss } = createAlgorithm({
    ...ppo,
    klLossFn: { name: 'k2' },
    entropyLossFn: { name: 'default' },
  });

  it.each(['currentLogprobs', 'oldLogprobs', 'advantages', 'refLogprobs', 'entropy'] as const)(
    'rejects %s that are not finite and names the row',
    (field) => {
      const spoiled = input()[field]!.slice();
      spoiled[2] = NaN;
      expect(() => loss(input({ [field]: spoiled }))).toThrow(
        `${field} is NaN at response token 0 of row 1; expected a finite number.`,
      );
      expect(() => loss(input({ [field]: spoiled }))).toThrow(EngineError);
    },
  );

  it('does not look at masked tokens', () => {
    const spoiled = input().currentLogprobs.slice();
    spoiled[1] = Infinity;
    expect(loss(input({ currentLogprobs: spoiled }))).toEqual(loss(input()));
  });

  it('does not look at what it does not need', () => {
    const sft = createAlgorithm({ policyLossFn: { name: 'sft' } });
    const { oldLogprobs, advantages } = {
      oldLogprobs: new Float32Array(3).fill(NaN),
      advantages: new Float32Array(3).fill(NaN),
    };
    expect(sft.loss(input({ oldLogprobs, advantages })).metrics).toEqual({
      sft_loss: expect.closeTo(1.5, 6) as number,
      final_loss: expect.closeTo(1.5, 6) as number,
    });
  });

  it('rejects arrays that are not aligned', () => {
    expect(() => loss(input({ advantages: new Float32Array(2) }))).toThrow(
      'advantages has 2 entries; expected one per response token, 3.',
    );
    expect(() => loss(input({ offsets: Int32Array.of(0, 2) }))).toThrow(InvariantError);
  });

  it('throws without the reference or the entropies that it needs', () => {
    const { refLogprobs: _r, ...withoutReference } = input();
    const { entropy: _e, ...withoutEntropy } = input();
    expect(() => loss(withoutReference)).toThrow(
      'The KL loss was given no log-probabilities of the reference',
    );
    expect(() => loss(withoutEntropy)).toThrow('The entropy loss was given no entropies');
  });
});
