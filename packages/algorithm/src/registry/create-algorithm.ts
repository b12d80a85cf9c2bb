/**
 * Creates an algorithm from the parts that its options name: an advantage function, a KL penalty,
 * and an objective that is the sum of policy loss, KL loss and entropy loss. Also collects the
 * inputs that these parts need.
 */
import { ConfigError, type AlgorithmNeeds, noNeeds } from '@trinity-rft/core';
import type { Algorithm, KlPenalty } from '@trinity-rft/core/internal';
import { pickRow } from '@trinity-rft/core/support';
import { correctedLoss, type RolloutCorrection } from '../correction/rollout-correction.js';
import type { AdvantageStrategy } from '../parts/advantage-part.js';
import { lossAggModes, type LossAggMode } from '../parts/aggregate.js';
import { expectedLoss } from '../parts/expected-loss.js';
import { objective } from '../parts/objective.js';
import type { Part } from '../parts/part.js';
import type { PartRef } from '../parts/preset.js';
import { builtInTables, type AlgorithmTables } from './tables.js';
import { valueLoss } from '../value-losses/value-loss.js';

/** Parts of an algorithm by name, as in the `algorithm` section of a resolved configuration. */
export interface AlgorithmOptions {
  /** Advantage function; undefined for supervised data. */
  readonly advantageFn?: PartRef | undefined;
  readonly policyLossFn: PartRef;
  /** KL loss. @default no KL loss */
  readonly klLossFn?: PartRef | undefined;
  /** KL penalty on rewards. @default no KL penalty */
  readonly klPenaltyFn?: PartRef | undefined;
  /** Entropy loss. @default no entropy loss */
  readonly entropyLossFn?: PartRef | undefined;
  /** Aggregation of token losses. @default "token-mean" */
  readonly lossAggMode?: LossAggMode | undefined;
  /**
   * Divisor of the sums, > 0.
   * @default 1 for `seq-mean-token-sum`, the longest sequence for `seq-mean-token-sum-norm`
   */
  readonly lossAggNorm?: number | undefined;
  /**
   * Correction for samplers whose log-probabilities differ from the trainer's.
   * @default no correction
   */
  readonly rolloutCorrection?: RolloutCorrection | undefined;
  /** Arguments of the critic's loss, if there is a critic. */
  readonly valueLoss?: object | undefined;
}

export interface AlgorithmContext {
  /** Seed of random choices of advantage functions. @default 0 */
  readonly seed?: number;
  /** Tables of presets and parts. @default {@link builtInTables} */
  readonly tables?: AlgorithmTables;
}

/**
 * Creates an algorithm from its named parts.
 * @throws ConfigError for an unknown name or argument, a value out of range, or parts that
 * contradict each other
 */
export function createAlgorithm(
  options: AlgorithmOptions,
  { seed = 0, tables = builtInTables }: AlgorithmContext = {},
): Algorithm {
  const none: PartRef = { name: 'none' };
  const mode = options.lossAggMode ?? 'token-mean';
  pickRow('loss_agg_mode', Object.fromEntries(lossAggModes.map((name) => [name, name])), mode);

  const advantage =
    options.advantageFn &&
    make('advantage function', tables.advantageFns, options.advantageFn, seed);
  const policy = make('policy loss', tables.policyLossFns, options.policyLossFn);
  if (policy.needs.rollouts && !advantage) throw noAdvantage(options.policyLossFn.name, tables);
  const rollouts = advantage !== undefined;
  const kl = make('KL loss', tables.klFns, options.klLossFn ?? none);
  const entropy = make('entropy loss', tables.entropyLossFns, options.entropyLossFn ?? none);
  const penalty = options.klPenaltyFn ?? none;
  const klPenalty = pickRow('KL penalty', tables.klFns, penalty.name).makePenalty(
    `KL penalty "${penalty.name}"`,
    penalty.args,
  );
  if (klPenalty && !advantage) throw noRewards(penalty.name);
  const parts = [policy, kl, entropy].filter((part) => part !== undefined);

  const { rolloutCorrection } = options;
  const needs = mergeNeeds([
    {
      rollouts,
      referenceLogprobs: klPenalty !== undefined,
      ratios: rolloutCorrection !== undefined,
    },
    advantage?.needs ?? {},
    ...parts.map((part) => part.needs),
  ]);
  if (rolloutCorrection && !advantage) throw noSampler();
  // True if the loss is only known after a forward pass of the policy.
  const needsPass = rolloutCorrection !== undefined || needs.entropy !== 'none' || needs.necs;
  const aggregation = { mode, norm: options.lossAggNorm };
  const loss = objective(parts, aggregation, needs);
  return {
    ...(advantage && placed(advantage, klPenalty, options)),
    loss: rolloutCorrection ? correctedLoss(loss, rolloutCorrection) : loss,
    expectedLoss: needsPass ? undefined : expectedLoss(parts, aggregation),
    valueLoss: needs.valueHead ? valueLoss.make('value loss', options.valueLoss) : undefined,
    needs,
  };
}

/**
 * Decides whether advantages are computed on train batches or on explore steps. Train batches are
 * used if the function needs a critic or penalised rewards. Otherwise explore steps are used,
 * because their groups are complete.
 */
function placed(
  { advantage, batchAdvantage }: AdvantageStrategy,
  klPenalty: KlPenalty | undefined,
  { advantageFn, klPenaltyFn }: AlgorithmOptions,
): Pick<Algorithm, 'advantage' | 'batchAdvantage' | 'klPenalty'> {
  if (advantage && !klPenalty) return { advantage };
  if (batchAdvantage) return { batchAdvantage, klPenalty };
  if (!advantage) {
    throw new ConfigError(
      `The advantage function "${advantageFn?.name}" defines neither \`advantage\` nor \`batchAdvantage\`. Let \`create\` return one.`,
      { code: 'ADVANTAGE_MISSING' },
    );
  }
  throw new ConfigError(
    `The KL penalty "${klPenaltyFn?.name}" changes rewards in the trainer, where the advantage function "${advantageFn?.name}" does not run. ` +
      'Set kl_penalty_fn to none and use kl_loss_fn, or choose an advantage function that runs on train batches.',
    { code: 'KL_PENALTY' },
  );
}

function noAdvantage(policyLoss: string, { advantageFns }: AlgorithmTables): ConfigError {
  return new ConfigError(
    `The policy loss "${policyLoss}" needs advantages, and there is no advantage function. Choose one of ${Object.keys(advantageFns).join(', ')}.`,
    { code: 'ADVANTAGE_MISSING' },
  );
}

function noSampler(): ConfigError {
  return new ConfigError(
    'A rollout correction compares a sampler with the trainer, and nothing is sampled. Remove it.',
    { code: 'ROLLOUT_CORRECTION' },
  );
}

function noRewards(penalty: string): ConfigError {
  return new ConfigError(
    `The KL penalty "${penalty}" changes rewards, and there is no advantage function that reads any. Set kl_penalty_fn to none.`,
    { code: 'KL_PENALTY' },
  );
}

function make<Made, Context extends readonly unknown[]>(
  kind: string,
  table: Readonly<Record<string, Part<Made, Context>>>,
  choice: PartRef,
  ...context: Context
): Made {
  return pickRow(kind, table, choice.name).make(
    `${kind} "${choice.name}"`,
    choice.args,
    ...context,
  );
}

/**
 * Returns the union of the needs of all parts. The need for entropies is the highest level that any
 * part requires.
 */
function mergeNeeds(parts: readonly Partial<AlgorithmNeeds>[]): AlgorithmNeeds {
  const flags = Object.keys(noNeeds).filter(isFlag);
  const merged = flags.map((name) => [name, parts.some((needs) => needs[name] === true)]);
  const entropy = (['gradient', 'value', 'metric'] as const).find((level) =>
    parts.some((needs) => needs.entropy === level),
  );
  return { ...noNeeds, ...Object.fromEntries(merged), entropy: entropy ?? 'none' };
}

const isFlag = (name: string): name is Exclude<keyof AlgorithmNeeds, 'entropy'> =>
  name !== 'entropy';
