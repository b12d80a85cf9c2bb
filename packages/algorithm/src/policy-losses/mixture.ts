/**
 * Implementation shared by `mix` and `mix_chord`: the PPO loss on sampled rows, combined with a
 * supervised loss on demonstrated rows.
 */
import {
  choiceArg,
  type ArgValues,
  type LossInput,
  type Metrics,
  InvariantError,
} from '@trinity-rft/core';
import { prefixMetrics } from '@trinity-rft/core/internal';
import { lossAggModeArg } from '../parts/aggregate.js';
import type { LossPart, LossTerm, TermResult, TokenLoss } from '../parts/token-loss.js';
import { batchSizeArgs, batchSizeFactor, type RowKind } from './mixture-factor.js';
import { clipArgs, ppo } from './ppo.js';

export const mixtureArgs = {
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
  ...batchSizeArgs,
};

export interface MixtureOptions extends ArgValues<typeof mixtureArgs> {
  /** Name of the policy loss, used in error messages. */
  readonly owner: string;
  /** Weight of the supervised loss at an optimizer step, from 0 to 1. */
  readonly mu: (step: number) => number;
  readonly supervised: TokenLoss;
  /** True to report metrics of 0 for a kind without rows in the batch. False to omit them. */
  readonly reportsEmptyKinds: boolean;
}

/**
 * Computes loss = (1 - mu) k_u L_ppo + mu k_e L_sft, with L_ppo over sampled rows (`expertMask` 0)
 * and L_sft over demonstrated rows. With `normalization` `kinds`, the factors k_u and k_e are 1.
 * Otherwise {@link batchSizeFactor} computes them. Metrics: `loss`, `usual/*`, `expert/*`. As in
 * Trinity-RFT, metrics other than `loss` are multiplied by the factor, even clip fractions and KL.
 */
export function mixture(options: MixtureOptions): LossPart['open'] {
  const policy = ppo.loss({ ...options, ...plainClip });
  const { supervised, grpoLossAggMode, sftLossAggMode, reportsEmptyKinds } = options;
  const factorOf = options.normalization === 'kinds' ? () => 1 : batchSizeFactor(options);
  return (input) => {
    const experts = expertsOf(input, options.owner);
    const sampled = experts.map((expert) => 1 - expert);
    const mu = options.mu(input.step);
    const usual: Kind = {
      name: 'usual',
      factor: factorOf('usual', sampled),
      isReported: reportsEmptyKinds || sampled.includes(1),
    };
    const expert: Kind = {
      name: 'expert',
      factor: factorOf('expert', experts),
      isReported: reportsEmptyKinds || experts.includes(1),
    };
    const terms: readonly LossTerm[] = [
      {
        loss: policy,
        rows: sampled,
        coefficient: (1 - mu) * usual.factor,
        mode: grpoLossAggMode,
      },
      {
        loss: supervised,
        rows: experts,
        coefficient: mu * expert.factor,
        mode: sftLossAggMode,
      },
    ];
    return {
      terms,
      metrics: ([ofUsual, ofExpert]) => ({
        ...kindMetrics(usual, ofUsual!),
        ...kindMetrics(expert, ofExpert!),
        loss: terms[0]!.coefficient! * ofUsual!.loss + terms[1]!.coefficient! * ofExpert!.loss,
      }),
    };
  };
}

/** Options of ppo that turn off everything except its clip. */
const plainClip = {
  enableSequenceMasking: false,
  deltaSequenceMasking: 0,
  fallbackToPolicyGradient: false,
};

interface Kind {
  readonly name: RowKind;
  readonly factor: number;
  readonly isReported: boolean;
}

function kindMetrics({ name, factor, isReported }: Kind, { metrics }: TermResult): Metrics {
  if (!isReported) return {};
  const scaled = Object.entries(metrics).map(([key, value]) => [key, value * factor]);
  return prefixMetrics(name, Object.fromEntries(scaled) as Metrics);
}

function expertsOf({ expertMask, offsets }: LossInput, owner: string): Uint8Array {
  if (expertMask?.length === offsets.length - 1) return expertMask;
  throw new InvariantError(
    `The policy loss "${owner}" was given ${expertMask ? `an expert mask of ${expertMask.length} entries` : 'no expert mask'}; expected one entry per row, ${offsets.length - 1}. Use sample_strategy "mix".`,
    { code: 'EXPERT_MASK_MISSING' },
  );
}
