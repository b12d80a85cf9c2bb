/**
 * What `mix` and `mix_chord` share: a policy loss on sampled rows beside a supervised loss on
 * demonstrated ones.
 */
import {
  booleanArg,
  choiceArg,
  InvariantError,
  numberArg,
  prefixMetrics,
  type ArgValues,
  type LossInput,
  type Metrics,
} from '@trinity-rft/core';
import { count, lossAggModeArg, meanOf, rowWeights } from '../parts/aggregate.js';
import type { TokenBlock } from '../parts/token-block.js';
import { tokenTerm, type OpenTerm, type TokenTerm } from '../parts/token-term.js';
import { batchSizeFactor } from './kind-factors.js';
import { clipArgs, clippedPolicyGradient } from './ppo.js';

export const kindArgs = {
  ...clipArgs,
  grpoLossAggMode: {
    ...lossAggModeArg,
    help: 'How the policy loss of sampled rows is aggregated. Default: loss_agg_mode.',
  },
  sftLossAggMode: {
    ...lossAggModeArg,
    help: 'How the supervised loss of demonstrated rows is aggregated. Default: loss_agg_mode.',
  },
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
  trainBatchSizeExpert: numberArg(
    1,
    { min: 1 },
    'Of batch_sizes: demonstrated rows of a train batch.',
  ),
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
 * loss = (1 - mu) k_u L_ppo + mu k_e L_sft, L_ppo over sampled rows (`expertMask` 0), L_sft over
 * demonstrated ones. Factors k are 1 with `normalization` `kinds`. With `batch_sizes`, for n rows
 * of a kind, T of them in a train batch, G trainers and integer divisions: k = n (mini // micro) /
 * (T // G), or with `useDynamicBsz` n (mini // G) / (B (T // G)), which is meant for the
 * micro-batches of verl. Metrics `usual/*` and `expert/*`, times k, and `loss`.
 */
export function kindsTerm(options: KindsOptions): TokenTerm {
  const terms = [clippedPolicyGradient(options), options.supervised] as const;
  const modes = [options.grpoLossAggMode, options.sftLossAggMode] as const;
  const factorOf = options.normalization === 'kinds' ? () => 1 : batchSizeFactor(options);
  return tokenTerm({
    open: (input, { mode, norm }) => {
      const experts = expertsOf(input, options.owner);
      const mu = options.mu(input.step);
      const openKind = (kind: 0 | 1): Kind => {
        const rows = kind === 1 ? experts : experts.map((expert) => 1 - expert);
        const counted = count(rows, 0, rows.length);
        const weights = rowWeights(input, modes[kind] ?? mode, { norm, rows });
        const factor = factorOf(kind, counted, rows.length);
        const term = terms[kind].open(input, { mode, norm });
        return {
          term,
          weights,
          factor,
          share: (kind === 1 ? mu : 1 - mu) * factor,
          rows: counted,
          trained: 0,
          loss: 0,
        };
      };
      return { experts, kinds: [openKind(0), openKind(1)] as const };
    },
    weights: ({ kinds: [usual, expert] }) =>
      usual.weights.map((weight, row) => weight + expert.weights[row]!),
    visit: (block, { experts, kinds }) =>
      visitKind(block, kinds[experts[block.row[0]!] === 1 ? 1 : 0]),
    metrics: (loss, _mean, { kinds: [usual, expert] }) => {
      const metricsOf = (
        name: string,
        { term, factor, rows, trained, loss: own }: Kind,
      ): Metrics => {
        if (rows === 0 && !options.reportsEmptyKinds) return {};
        const metrics = term.metrics(own, (sum) => meanOf(sum, trained));
        return prefixMetrics(
          name,
          Object.fromEntries(Object.entries(metrics).map(([key, value]) => [key, value * factor])),
        );
      };
      return { ...metricsOf('usual', usual), ...metricsOf('expert', expert), loss };
    },
  });
}

/** The loss of one kind of rows at work. */
interface Kind {
  readonly term: OpenTerm;
  /** 0 for rows of the other kind. [B] */
  readonly weights: Float64Array;
  /** What metrics are multiplied by. */
  readonly factor: number;
  /** What the loss is multiplied by. */
  readonly share: number;
  readonly rows: number;
  trained: number;
  /** Aggregated, without its share. */
  loss: number;
}

function visitKind(block: TokenBlock, kind: Kind): void {
  const { size, row, value, gradient } = block;
  const { weights, share } = kind;
  kind.term.visit(block);
  let loss = 0;
  for (let i = 0; i < size; i++) {
    loss += weights[row[i]!]! * value[i]!;
    value[i]! *= share;
    gradient[i]! *= share;
  }
  kind.loss += loss;
  kind.trained += size;
}

function expertsOf({ expertMask, offsets }: LossInput, owner: string): Uint8Array {
  if (expertMask?.length === offsets.length - 1) return expertMask;
  throw new InvariantError(
    `The policy loss "${owner}" was given ${expertMask ? `an expert mask of ${expertMask.length} entries` : 'no expert mask'}; expected one entry per row, ${offsets.length - 1}. Use sample_strategy "mix".`,
    { code: 'EXPERT_MASK_MISSING' },
  );
}
