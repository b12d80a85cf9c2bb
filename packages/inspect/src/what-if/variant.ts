/** Variants of the reward and of the algorithm, limited to the parts that need no model. */
import {
  builtInTables,
  createAlgorithm,
  onExperiences,
  type AlgorithmTables,
  type LossAggMode,
  type PartRef,
} from '@trinity-rft/algorithm';
import {
  ConfigError,
  type AdvantageFn,
  type AlgorithmNeeds,
  type Experience,
  type PolicyLossFn,
  type RewardInput,
  type RewardResult,
} from '@trinity-rft/core';
import { pickRow } from '@trinity-rft/core/support';

/** Input of a reward function for a recorded rollout: its last answer. */
export interface RecordedAnswer extends RewardInput {
  readonly experience: Experience;
}

/** Function that rewards a recorded answer, such as a `RewardFn`. */
export type RecordedReward = (answer: RecordedAnswer) => RewardResult | Promise<RewardResult>;

export interface Variant {
  /** Reward function of the variant. @default the recorded rewards */
  readonly reward?: RecordedReward | undefined;
  /**
   * Value of `algorithm_type`. This algorithm provides the parts that are not given. @default
   * "grpo"
   */
  readonly algorithm?: string | undefined;
  readonly advantageFn?: PartRef | undefined;
  readonly policyLossFn?: PartRef | undefined;
  readonly lossAggMode?: LossAggMode | undefined;
}

/** Advantage and loss functions of a variant. */
export interface VariantParts {
  readonly advantage: AdvantageFn;
  readonly loss: PolicyLossFn;
}

export interface PartsContext {
  /** Tables in which algorithms and their parts are looked up. @default the built-in tables */
  readonly tables?: AlgorithmTables | undefined;
  /** Seed for functions that use randomness. @default 0 */
  readonly seed?: number | undefined;
}

/**
 * Returns the functions of a variant, without KL and entropy terms, which need models.
 * @throws ConfigError for unknown names and arguments, and for parts that need a model
 */
export function partsOf(
  { algorithm = 'grpo', advantageFn, policyLossFn, lossAggMode }: Variant,
  { tables = builtInTables, seed = 0 }: PartsContext,
): VariantParts {
  const preset = pickRow('algorithm', tables.presets, algorithm);
  const made = createAlgorithm(
    {
      advantageFn: advantageFn ?? preset.advantageFn,
      policyLossFn: policyLossFn ?? preset.policyLossFn,
      lossAggMode: lossAggMode ?? preset.lossAggMode,
    },
    { tables, seed },
  );
  assertWithoutModel(made.needs, algorithm);
  const { batchAdvantage } = made;
  const advantage = made.advantage ?? (batchAdvantage && onExperiences(batchAdvantage));
  if (!advantage)
    throw new ConfigError(
      `The algorithm "${algorithm}" has no advantage function, so there is nothing to rank. Choose one that compares rewards, such as grpo, or name an advantage function (--advantage).`,
      { code: 'ADVANTAGE_MISSING' },
    );
  return { advantage, loss: made.loss };
}

/**
 * Names of the algorithms and parts that `whatIf` accepts. A part is accepted if it works with the
 * other parts of grpo.
 */
export interface Usable {
  readonly algorithms: readonly string[];
  readonly advantageFns: readonly string[];
  readonly policyLossFns: readonly string[];
}

/** Returns the algorithms and functions that can be tried without a model. */
export function usableParts(tables: AlgorithmTables = builtInTables): Usable {
  const { presets, advantageFns, policyLossFns } = tables;
  const those = (table: object, variant: (name: string) => Variant): readonly string[] =>
    Object.keys(table).filter((name) => isUsable(variant(name), tables));
  return {
    algorithms: those(presets, (algorithm) => ({ algorithm })),
    advantageFns: those(advantageFns, (name) => ({ advantageFn: { name } })),
    policyLossFns: those(policyLossFns, (name) => ({ policyLossFn: { name } })),
  };
}

function isUsable(variant: Variant, tables: AlgorithmTables): boolean {
  try {
    partsOf(variant, { tables });
    return true;
  } catch (error) {
    if (error instanceof ConfigError) return false;
    throw error;
  }
}

const missing: Readonly<Partial<Record<keyof AlgorithmNeeds, string>>> = {
  valueHead: 'a critic',
  referenceLogprobs: 'log-probabilities of a reference model',
  necs: 'distributions of the model over its vocabulary',
  teacherLogprobs: 'log-probabilities of a teacher',
  pairs: 'pairs of answers',
  expertMask: 'demonstrations of an expert',
};

function assertWithoutModel(needs: AlgorithmNeeds, algorithm: string): void {
  const reads = needs.entropy === 'value' || needs.entropy === 'gradient';
  const found = Object.entries(missing).find(
    ([need]) => needs[need as keyof AlgorithmNeeds] === true,
  )?.[1];
  const what = found ?? (reads ? 'the entropy of the model' : undefined);
  if (what === undefined) return;
  throw new ConfigError(
    `The parts of "${algorithm}" need ${what}, which recorded rollouts do not hold. Choose others.`,
    { code: 'MODEL_NEEDED' },
  );
}
