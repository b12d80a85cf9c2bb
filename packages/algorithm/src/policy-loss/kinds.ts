/** What `mix` and `mix_chord` share: a policy loss on sampled rows beside a supervised loss on demonstrated ones. */
import {
  booleanArg,
  choiceArg,
  ConfigError,
  InvariantError,
  numberArg,
  prefixMetrics,
  type ArgValues,
  type LossInput,
  type Metrics,
} from '@trinity-rft/core';
import { count, lossAggModeArg, rowWeights } from '../aggregate.js';
import type { LossTerm } from '../part.js';
import { addTerms, type TokenTerm, type WeighedTerm } from '../token-term.js';
import { clipArgs, clippedPolicyGradient } from './ppo.js';

export const kindArgs = {
  ...clipArgs,
  grpoLossAggMode: { ...lossAggModeArg, help: 'How the policy loss of sampled rows is aggregated. Default: loss_agg_mode.' },
  sftLossAggMode: { ...lossAggModeArg, help: 'How the supervised loss of demonstrated rows is aggregated. Default: loss_agg_mode.' },
  normalization: choiceArg(
    ['batch_sizes', 'kinds'],
    'batch_sizes',
    'kinds: each loss is aggregated over its kind of rows in the whole batch. batch_sizes: times the factors that Trinity-RFT makes of the six arguments below.',
  ),
  useDynamicBsz: booleanArg(false, 'Of batch_sizes: micro-batches are packed by tokens.'),
  ppoMiniBatchSize: numberArg(1, { min: 1 }, 'Of batch_sizes: rows of an optimizer batch.'),
  ppoMicroBatchSizePerGpu: numberArg(1, { min: 1 }, 'Of batch_sizes: rows of a micro-batch.'),
  ngpusTrainer: numberArg(1, { min: 1 }, 'Of batch_sizes: number of trainers.'),
  trainBatchSizeUsual: numberArg(1, { min: 1 }, 'Of batch_sizes: sampled rows of a train batch.'),
  trainBatchSizeExpert: numberArg(1, { min: 1 }, 'Of batch_sizes: demonstrated rows of a train batch.'),
};

export interface KindsOptions extends ArgValues<typeof kindArgs> {
  /** Name of the policy loss, for messages. */
  readonly owner: string;
  /** Weight of the supervised loss at an optimizer step. 0 to 1 */
  readonly mu: (step: number) => number;
  readonly supervised: TokenTerm;
  /** Whether a kind without rows has metrics, of 0. */
  readonly reportsEmptyKinds: boolean;
}

/**
 * loss = (1 - mu) k_u L_ppo + mu k_e L_sft, L_ppo over sampled rows (`expertMask` 0), L_sft over demonstrated ones. Factors k
 * are 1 with `normalization` `kinds`. With `batch_sizes`, for n rows of a kind, T of them in a train batch, G trainers and
 * integer divisions: k = n (mini // micro) / (T // G), or with `useDynamicBsz` n (mini // G) / (B (T // G)), which is meant for
 * the micro-batches of verl. Metrics `usual/*` and `expert/*`, times k, and `loss`.
 */
export function kindsTerm(options: KindsOptions): LossTerm {
  const terms = [clippedPolicyGradient(options), options.supervised] as const;
  const factorOf = options.normalization === 'kinds' ? () => 1 : batchSizeFactor(options);
  return (input, _weights, { mode, norm } = { mode: 'token-mean' }) => {
    const experts = expertsOf(input, options.owner);
    const mu = options.mu(input.step);
    const gradLogprobs = new Float32Array(input.actionMask.length);
    let loss = 0;
    const addKind = (kind: 0 | 1): Metrics => {
      const rows = kind === 1 ? experts : experts.map((expert) => 1 - expert);
      const counted = count(rows, 0, rows.length);
      if (counted === 0 && !options.reportsEmptyKinds) return {};
      const own = kind === 1 ? options.sftLossAggMode : options.grpoLossAggMode;
      const factor = factorOf(kind, counted, rows.length);
      const weighed: WeighedTerm = {
        term: terms[kind],
        weights: rowWeights(input, own ?? mode, { norm, rows }),
        per: 'row',
        factor: (kind === 1 ? mu : 1 - mu) * factor,
      };
      const [output] = addTerms(input, [weighed], { currentLogprobs: gradLogprobs }, { needs: { rollouts: kind === 0 }, rows });
      loss += output!.loss;
      const metrics = Object.fromEntries(Object.entries(output!.metrics).map(([name, value]) => [name, value * factor]));
      return prefixMetrics(kind === 1 ? 'expert' : 'usual', metrics);
    };
    const metrics = { ...addKind(0), ...addKind(1) };
    return { loss, gradLogprobs, metrics: { ...metrics, loss } };
  };
}

type Factor = (kind: 0 | 1, rowsOfKind: number, rows: number) => number;

function batchSizeFactor(options: KindsOptions): Factor {
  const { owner, ppoMiniBatchSize: mini, ppoMicroBatchSizePerGpu: micro, ngpusTrainer } = options;
  const perTrainer = [options.trainBatchSizeUsual, options.trainBatchSizeExpert].map((rows) => Math.floor(rows / ngpusTrainer));
  if (perTrainer.includes(0))
    throw new ConfigError(
      `The policy loss "${owner}" has fewer rows of a kind in a train batch than "ngpusTrainer", ${ngpusTrainer}. Set "normalization" to "kinds", which needs no batch sizes.`,
      { code: 'ARGUMENT_INVALID' },
    );
  return (kind, rowsOfKind, rows) =>
    options.useDynamicBsz
      ? (rowsOfKind * Math.floor(mini / ngpusTrainer)) / (rows * perTrainer[kind]!)
      : (rowsOfKind * Math.floor(mini / micro)) / perTrainer[kind]!;
}

function expertsOf({ expertMask, offsets }: LossInput, owner: string): Uint8Array {
  if (expertMask?.length === offsets.length - 1) return expertMask;
  throw new InvariantError(
    `The policy loss "${owner}" was given ${expertMask ? `an expert mask of ${expertMask.length} entries` : 'no expert mask'}; expected one entry per row, ${offsets.length - 1}. Use sample_strategy "mix".`,
    { code: 'EXPERT_MASK_MISSING' },
  );
}
