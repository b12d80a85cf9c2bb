import { ConfigError, type LossInput, EngineError, InvariantError } from '@trinity-rft/core';
import { describe, expect, it } from 'vitest';
import { createAlgorithm } from '../src/index.js';
import { entropyLossFns } from '../src/entropy/table.js';
import { klFns } from '../src/kl/table.js';
import { lossAggModes } from '../src/parts/aggregate.js';
import { policyLossFns } from '../src/policy-losses/table.js';
import { evaluate } from './evaluate.js';
import { variants } from './variants.js';

const tokens = (
  values: Partial<Record<'current' | 'old' | 'reference' | 'advantage', readonly number[]>>,
  mask: readonly number[],
): LossInput => {
  const floats = (given: readonly number[] | undefined): Float32Array =>
    Float32Array.from(given ?? mask.map(() => -1));
  return {
    offsets: Int32Array.of(0, mask.length / 2, mask.length),
    actionMask: Uint8Array.from(mask),
    currentLogprobs: floats(values.current),
    oldLogprobs: floats(values.old),
    refLogprobs: floats(values.reference),
    advantages: floats(values.advantage),
    entropy: floats(undefined),
    expertMask: Uint8Array.of(0, 1),
    step: 1,
  };
};

describe('every policy loss', () => {
  it.each(variants)('%s %j stays finite for ratios of e^100 either way', (name, args) => {
    const part = policyLossFns[name].make(name, args);
    for (const advantage of [-100, 100]) {
      const input = tokens(
        {
          current: [0, -100, 0, -100],
          old: [-100, 0, -100, 0],
          reference: [-100, 0, -100, 0],
          advantage: [1, 1, 1, 1].map((sign) => sign * advantage),
        },
        [1, 1, 1, 1],
      );
      for (const mode of lossAggModes) {
        const { loss, gradLogprobs, metrics } = evaluate(part, input, { mode });
        expect([loss, ...gradLogprobs, ...Object.values(metrics)].every(Number.isFinite)).toBe(
          true,
        );
      }
    }
  });

  it.each(variants)(
    '%s %j is 0 for batches without rows or without trained tokens',
    (name, args) => {
      const part = policyLossFns[name].make(name, args);
      const masked = tokens({ current: [NaN, NaN, NaN, NaN] }, [0, 0, 0, 0]);
      const empty: LossInput = {
        ...masked,
        offsets: Int32Array.of(0),
        actionMask: new Uint8Array(0),
        expertMask: new Uint8Array(0),
      };
      for (const mode of lossAggModes) {
        for (const input of [masked, empty]) {
          const { loss, gradLogprobs, metrics } = evaluate(part, input, { mode });
          // A pair without trained tokens is undecided: its loss is log 2.
          expect(Math.abs(loss)).toBeCloseTo(name === 'dpo' && input === masked ? Math.LN2 : 0, 12);
          expect([...gradLogprobs].every((value) => value === 0)).toBe(true);
          expect(Object.values(metrics).every(Number.isFinite)).toBe(true);
        }
      }
    },
  );
});

describe('KL losses', () => {
  const names = Object.keys(klFns).filter((name) => name !== 'none') as (keyof typeof klFns)[];

  it.each(names)('%s is finite a hundred nats away, and pulls back or not at all', (name) => {
    const part = klFns[name].make(name, {})!;
    const input = tokens(
      { current: [-100, 0, -100, 0], reference: [0, -100, 0, -100], old: [0, -100, -100, 0] },
      [1, 1, 1, 1],
    );
    const { loss, gradLogprobs } = evaluate(part, input, { needs: { rollouts: true } });
    expect([loss, ...gradLogprobs].every(Number.isFinite)).toBe(true);
    // k1 is linear, and the factor of corrected_k3 has its own gradient.
    const wrongWay = gradLogprobs.filter((gradient, t) => (t % 2 === 0 ? gradient : -gradient) > 0);
    expect(wrongWay.length).toBe({ k1: 2, corrected_k3: 1 }[name as string] ?? 0);
  });
});

describe('what losses reject', () => {
  const input = tokens({}, [1, 1, 1, 1]);
  const { expertMask: _e, ...withoutExperts } = input;
  const { refLogprobs: _r, ...withoutReference } = input;

  it('an odd number of rows where pairs are expected', () => {
    const three = { ...input, offsets: Int32Array.of(0, 1, 2, 4) };
    const each = policyLossFns.dpo.make('dpo', { pairing: 'each' });
    expect(() => evaluate(each, three)).toThrow(
      'The policy loss "dpo" was given 3 rows; expected pairs, a chosen row and the rejected one after it.',
    );
    expect(() => evaluate(each, three)).toThrow(InvariantError);
  });

  it('missing references and expert masks', () => {
    expect(() => evaluate(policyLossFns.dpo.make('dpo', {}), withoutReference)).toThrow(
      'no log-probabilities of the reference',
    );
    for (const name of ['mix', 'mix_chord'] as const)
      expect(() => evaluate(policyLossFns[name].make(name, {}), withoutExperts)).toThrow(
        `The policy loss "${name}" was given no expert mask`,
      );
    expect(() => evaluate(entropyLossFns.mix.make('mix', {})!, withoutExperts)).toThrow(
      'The entropy loss "mix" was given no expert mask',
    );
  });

  it.each([
    [
      'sapo',
      { tauNeg: 0.5 },
      'The argument "tauNeg" of policy loss "sapo" is 0.5; expected at least "tauPos", 1.',
    ],
    ['rec', { weight: 'gspo_importance_sampling' }, 'expected "clipMode" to be "gspo-one-side"'],
    ['mix', { ngpusTrainer: 4 }, 'Set "normalization" to "kinds"'],
    ['ppo', { lossAggMode: 'token_mean' }, 'expected one of "token-mean"'],
    ['sft_phi', { cutoffProb: 0 }, 'expected a number > 0 and <= 1'],
  ] as const)('arguments of %s that contradict each other: %j', (name, args, message) => {
    expect(() => policyLossFns[name].make(`policy loss "${name}"`, args)).toThrow(message);
    expect(() => policyLossFns[name].make(`policy loss "${name}"`, args)).toThrow(ConfigError);
  });

  it('an expert mask of another length, and numbers that are not finite', () => {
    const { loss } = createAlgorithm({
      advantageFn: { name: 'grpo' },
      policyLossFn: { name: 'mix' },
    });
    expect(() => loss({ ...input, expertMask: Uint8Array.of(1) })).toThrow(
      'expertMask has 1 entries; expected one per row, 2.',
    );
    const broken = { ...input, currentLogprobs: Float32Array.of(-1, -1, -1, -Infinity) };
    expect(() => loss(broken)).toThrow(
      'currentLogprobs is -Infinity at response token 1 of row 1; expected a finite number.',
    );
    expect(() => loss(broken)).toThrow(EngineError);
  });
});

it.each(variants.filter(([, args]) => args['lossAggMode'] === undefined))(
  '%s %j is aggregated in a mode of its own as in that of the algorithm, with the same norm',
  (name, args) => {
    const input = tokens({ current: [-1, -2, -0.5, -3], advantage: [1, 2, -1, -2] }, [1, 1, 1, 0]);
    const part = policyLossFns[name].make(name, args);
    for (const mode of lossAggModes) {
      for (const norm of [undefined, 512]) {
        const own = policyLossFns[name].make(name, { ...args, lossAggMode: mode });
        expect(evaluate(own, input, { norm })).toEqual(evaluate(part, input, { mode, norm }));
      }
    }
  },
);
