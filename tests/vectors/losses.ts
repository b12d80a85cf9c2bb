// Losses, gradients, KL functions, entropy terms and aggregation.
import type { LossInput } from '../../packages/core/src/index.ts';
import type { AdvantageInput } from '../../packages/core/src/internal.ts';
import { valueLoss } from '../../packages/algorithm/src/value-losses/value-loss.ts';
import { trustMask } from '../../packages/algorithm/src/policy-losses/m2po-mask.ts';
import { muAt } from '../../packages/algorithm/src/policy-losses/mix-chord.ts';
import { whiten } from '../../packages/algorithm/src/advantages/shared/whiten.ts';
import {
  builtInTables,
  createAlgorithm,
  type LossAggMode,
} from '../../packages/algorithm/src/index.ts';
import { aggregationWeights } from '../../packages/algorithm/src/parts/aggregate.ts';
import { aggregateLoss } from '../../packages/algorithm/test/batches.ts';
import { evaluate } from '../../packages/algorithm/test/evaluate.ts';
import { expectSame } from './compare.ts';
import {
  camelCased,
  flat,
  maskOf,
  toLossInput,
  type LossVectors,
  type Mask,
  type Matrix,
} from './inputs.ts';
import { inputOf, type Numbers, type VectorCase, type VectorFile } from './suite.ts';

/** Loss of a disabled part. */
const noLoss = { loss: 0, metrics: {} };

const lossInputOf = (file: VectorFile, name: string): LossInput =>
  toLossInput(inputOf(file, name) as unknown as LossVectors);

interface PolicyLossVector {
  readonly id: string;
  readonly fn: string;
  readonly args: { readonly loss_agg_mode?: LossAggMode } & Readonly<Record<string, unknown>>;
  readonly input: string;
  readonly expect: { readonly loss?: number; readonly metrics?: Numbers };
  readonly grad_logprob_run?: Matrix;
}

export function policyLoss(
  vectors: readonly PolicyLossVector[],
  file: VectorFile,
): readonly VectorCase[] {
  return vectors.map(
    ({
      id,
      fn,
      args: { loss_agg_mode: lossAggMode, ...args },
      input,
      expect,
      grad_logprob_run: gradient,
    }) => ({
      id,
      run: () => {
        const row = builtInTables.policyLossFns[fn];
        if (!row) throw new RangeError(`there is no policy loss "${fn}"`);
        const { rollouts } = row.make(fn, {}).needs;
        const advantageFn = rollouts ? { name: 'grpo' } : undefined;
        const algorithm = createAlgorithm({
          policyLossFn: { name: fn, args: camelCased(args) },
          lossAggMode,
          advantageFn,
        });
        const { loss, gradLogprobs, metrics } = algorithm.loss(lossInputOf(file, input));
        expectSame({ loss, metrics }, expect);
        expectSame(gradLogprobs, gradient?.flat(), undefined, 'gradient');
      },
    }),
  );
}

interface KlVector {
  readonly id: string;
  readonly fn: string;
  readonly kl_coef: number;
  readonly input: string;
  readonly with_old_logprob: boolean;
  readonly kl?: Matrix;
  readonly kl_loss?: Readonly<
    Record<string, { readonly loss?: number; readonly metrics?: Numbers }>
  >;
  readonly grad_token_mean?: Matrix;
}

export function kl(vectors: readonly KlVector[], file: VectorFile): readonly VectorCase[] {
  return vectors.map(
    ({ id, fn, kl_coef: klCoef, input: name, with_old_logprob: rollouts, ...expected }) => ({
      id,
      run: () => {
        const input = lossInputOf(file, name);
        const part = builtInTables.klFns[fn]!.make(`KL loss "${fn}"`, { klCoef });
        const needs = { rollouts };
        for (const [mode, stated] of Object.entries(expected.kl_loss ?? {})) {
          const output =
            (part && evaluate(part, input, { mode: mode as LossAggMode, needs })) ?? noLoss;
          expectSame(output, stated, undefined, mode);
        }
        // With a mask of a single token, the mean is the value of that token, even for tokens that
        // the case masks.
        const only = (t: number): LossInput => ({
          ...input,
          actionMask: input.actionMask.map((_, other) => Number(other === t)),
        });
        const values = Array.from(
          input.currentLogprobs,
          (_, t) => (part && evaluate(part, only(t), { needs }).metrics['kl_loss']) ?? 0,
        );
        expectSame(values, expected.kl?.flat(), undefined, 'kl');
        const gradient =
          (part && evaluate(part, input, { needs }).gradLogprobs) ?? values.map(() => 0);
        expectSame(gradient, expected.grad_token_mean?.flat(), undefined, 'gradient');
      },
    }),
  );
}

interface KlPenaltyVectors {
  readonly input: string;
  readonly token_level_scores: Matrix;
  readonly cases: readonly {
    readonly fn: string;
    readonly kl_coef: number;
    readonly token_level_rewards?: Matrix;
    readonly metrics?: Numbers;
  }[];
}

export function klPenalty(
  { input: name, token_level_scores: scores, cases }: KlPenaltyVectors,
  file: VectorFile,
): readonly VectorCase[] {
  return cases.map(({ fn, kl_coef: klCoef, token_level_rewards: rewards, metrics }) => ({
    id: `kl_penalty/${fn}`,
    run: () => {
      const loss = lossInputOf(file, name.split(' ')[0]!);
      const input: AdvantageInput = {
        ...loss,
        rewards: flat(scores),
        tasks: new Int32Array(scores.length),
      };
      const penalty = builtInTables.klFns[fn]!.makePenalty(`KL penalty "${fn}"`, { klCoef });
      const output = penalty?.apply(input, penalty.initialCoefficient) ?? {
        rewards: input.rewards,
        metrics: {},
      };
      expectSame(output.rewards, rewards?.flat(), undefined, 'rewards');
      expectSame(output.metrics, metrics, undefined, 'metrics');
    },
  }));
}

interface EntropyVectors {
  readonly input: string;
  readonly cases: readonly {
    readonly fn: string;
    readonly entropy_coef: number;
    readonly loss_agg_mode: LossAggMode;
    readonly loss?: number;
    readonly metrics?: Numbers;
  }[];
}

/** Cases of entropy losses. Trinity-RFT states the value that it subtracts from the loss. */
export function entropyLoss(
  { input: name, cases }: EntropyVectors,
  file: VectorFile,
): readonly VectorCase[] {
  return cases.map(({ fn, entropy_coef: entropyCoef, loss_agg_mode: mode, loss, metrics }) => ({
    id: `entropy/${fn}/${mode}`,
    run: () => {
      const input = lossInputOf(file, name);
      const part = builtInTables.entropyLossFns[fn]!.make(`entropy loss "${fn}"`, { entropyCoef });
      const output = (part && evaluate(part, input, { mode })) ?? noLoss;
      expectSame(
        { loss: output.loss === 0 ? 0 : -output.loss, metrics: output.metrics },
        { loss, metrics },
      );
    },
  }));
}

interface AggregateVectors {
  readonly values: string;
  /** Name of a mask, such as `small_4x5.action_mask`, its numbers, or words for it. */
  readonly mask: Mask;
  readonly cases: readonly {
    readonly mode: LossAggMode;
    readonly normalizer?: number;
    /**
     * Mask of this case.
     * @default the mask of all cases
     */
    readonly mask?: Mask;
    readonly value: number;
  }[];
  readonly masked_var_unbiased?: number;
  readonly masked_whiten?: Matrix;
  readonly masked_whiten_no_shift?: Matrix;
}

export function aggregate(
  { values: place, mask, cases, ...more }: AggregateVectors,
  file: VectorFile,
): readonly VectorCase[] {
  const [name, column] = place.split('.') as [string, string];
  const vectors = inputOf(file, name);
  const withMask = (given: Mask): LossInput => {
    const [source = '', masks] = typeof given === 'string' ? given.split('.') : [];
    const action_mask = masks === undefined ? given : inputOf(file, source)[masks];
    return toLossInput({ ...vectors, action_mask } as unknown as LossVectors);
  };
  const input = withMask(mask);
  const values = flat(vectors[column]!);
  const modes = cases.map(({ mode, normalizer, mask: own, value }) => ({
    id: `aggregate/${mode}${normalizer === undefined ? '' : `/${normalizer}`}${own === undefined ? '' : '/mask'}`,
    run: () => {
      const of = own === undefined ? input : withMask(own);
      expectSame(aggregateLoss(values, aggregationWeights(of, mode, { norm: normalizer })), value);
    },
  }));
  const {
    masked_whiten: whitened,
    masked_whiten_no_shift: unshifted,
    masked_var_unbiased: variance,
  } = more;
  const white = values.slice();
  whiten(white, input.actionMask);
  const trained = (numbers: ArrayLike<number>): number[] =>
    Array.from(numbers).filter((_, t) => input.actionMask[t] === 1);
  const mean = trained(values).reduce((sum, value) => sum + value, 0) / trained(values).length;
  // Whitening divides by the standard deviation, so the difference of two whitened values reveals
  // it.
  const spread =
    (trained(values)[0]! - trained(values)[1]!) / (trained(white)[0]! - trained(white)[1]!);
  return [
    ...modes,
    ...(variance === undefined
      ? []
      : [{ id: 'aggregate/masked_var', run: () => expectSame(spread ** 2, variance) }]),
    ...(whitened
      ? [{ id: 'aggregate/masked_whiten', run: () => expectSame(white, whitened.flat()) }]
      : []),
    ...(unshifted
      ? [
          {
            id: 'aggregate/masked_whiten_no_shift',
            run: () =>
              expectSame(
                white.map((value) => value + mean),
                unshifted.flat(),
              ),
          },
        ]
      : []),
  ];
}

interface ChordVectors {
  readonly args: Readonly<Record<string, number>>;
  readonly cases: readonly { readonly step: number; readonly mu: number }[];
  readonly zero_steps?: {
    readonly args: readonly number[];
    readonly step: number;
    readonly mu: number;
  };
}

export function chordSchedule({
  args,
  cases,
  zero_steps: zero,
}: ChordVectors): readonly VectorCase[] {
  const schedule = camelCased(args) as unknown as Parameters<typeof muAt>[1];
  const [muWarmupSteps = 0, muDecaySteps = 0, muPeak = 0, muValley = 0] = zero?.args ?? [];
  return [
    ...cases.map(({ step, mu }) => ({
      id: `chord_mu/${step}`,
      run: () => expectSame(muAt(step, schedule), mu),
    })),
    ...(zero
      ? [
          {
            id: 'chord_mu/zero_steps',
            run: () =>
              expectSame(
                muAt(zero.step, { muWarmupSteps, muDecaySteps, muPeak, muValley }),
                zero.mu,
              ),
          },
        ]
      : []),
  ];
}

interface CriticVectors {
  readonly cases: readonly {
    readonly V: number;
    readonly V_old: number;
    readonly R: number;
    readonly c: number;
    readonly loss?: number;
    readonly grad_V?: number;
    /**
     * Gradient with a clip range of 0.5, which no case exceeds.
     * @default V - R
     */
    readonly grad_without_clip?: number;
  }[];
}

export function criticValueLoss({ cases }: CriticVectors): readonly VectorCase[] {
  return cases.map(({ V, V_old, R, c, loss, grad_V, grad_without_clip: free = V - R }) => ({
    id: `critic/V=${V},V_old=${V_old},R=${R},c=${c}`,
    run: () => {
      const input = {
        offsets: Int32Array.of(0, 1),
        actionMask: Uint8Array.of(1),
        values: Float32Array.of(V),
        oldValues: Float32Array.of(V_old),
        returns: Float32Array.of(R),
      };
      const evaluateWith = (cliprangeValue: number) =>
        valueLoss.make('value loss', { cliprangeValue })(input);
      const output = evaluateWith(c);
      expectSame({ loss: output.loss, grad: output.gradValues[0] }, { loss, grad: grad_V });
      expectSame(evaluateWith(0.5).gradValues[0], free, undefined, 'grad_without_clip');
    },
  }));
}

interface M2poVector {
  readonly log_ratio: Matrix | string;
  readonly advantages: Matrix;
  readonly action_mask: Mask;
  readonly threshold: number;
  readonly mask?: Mask;
  readonly m2_before?: number;
  readonly m2_after?: number;
  readonly masked_fraction?: number;
}

export function m2poMask({
  cases,
}: {
  readonly cases: readonly M2poVector[];
}): readonly VectorCase[] {
  return cases.map(
    (
      { log_ratio, advantages, action_mask, threshold, mask, m2_before, m2_after, masked_fraction },
      i,
    ) => ({
      id: `m2po_mask/${i}`,
      run: () => {
        const ratios = typeof log_ratio === 'string' ? rootsOf(log_ratio) : log_ratio;
        const input = toLossInput({ logprob: ratios, advantages, action_mask });
        const { kept, metrics } = trustMask(input, threshold);
        if (mask) expectSame(kept, maskOf(mask, ratios).flat(), 0, 'mask');
        expectSame(metrics, { m2_before, m2_after, masked_fraction }, undefined, 'metrics');
      },
    }),
  );
}

/** Parses `sqrt of [0.01,0.09,0.05]`. */
function rootsOf(text: string): Matrix {
  return [(JSON.parse(text.slice(text.indexOf('['))) as number[]).map(Math.sqrt)];
}

interface M2poLossVector {
  readonly logprob: Matrix;
  readonly old_logprob: Matrix;
  readonly advantages: Matrix;
  readonly m2po_mask: Mask;
  readonly loss?: number | string;
  readonly grad?: Matrix | string;
}

/** Cases of M2PO. Each mask keeps the same tokens as a threshold at the largest square that the mask keeps. */
export function m2poLoss({
  cases,
}: {
  readonly cases: readonly M2poLossVector[];
}): readonly VectorCase[] {
  return cases.map(({ m2po_mask: mask, loss, grad, ...columns }, i) => ({
    id: `m2po_loss/${i}`,
    run: () => {
      const input = toLossInput({ ...columns, action_mask: 'all one' });
      const squares = input.currentLogprobs.map((x, t) => (x - input.oldLogprobs[t]!) ** 2);
      const isKept = maskOf(mask, columns.logprob).flat();
      const kept = squares.filter((_, t) => isKept[t] === 1);
      const mean = kept.reduce((sum, square) => sum + square, 0) / Math.max(kept.length, 1);
      const part = builtInTables.policyLossFns['m2po']!.make('policy loss "m2po"', {
        m2Threshold: Math.max(1e-6, mean),
      });
      const output = evaluate(part, input);
      const gradient = typeof grad === 'string' ? [[numberOf(grad)]] : grad;
      expectSame(output.loss, loss === undefined ? loss : numberOf(loss), undefined, 'loss');
      expectSame(output.gradLogprobs, gradient?.flat(), undefined, 'grad');
    },
  }));
}

/** Parses a number, or `exp(20)`. */
const numberOf = (value: number | string): number =>
  typeof value === 'number' ? value : Math.exp(Number(/\d+/.exec(value)![0]));
