/**
 * Definitions that plugins export to add entries to the tables. A definition is recognised by the
 * `kind` that it carries, and selected by its name in YAML.
 */
import {
  ConfigError,
  type ArgSpec,
  type ArgValues,
  type ExperienceOperator,
} from '@trinity-rft/core';
import { checkDefinition, pickRow } from '@trinity-rft/core/support';
import {
  defineAdvantagePart,
  type AdvantageFacts,
  type AdvantagePart,
  type AdvantageStrategy,
} from '../parts/advantage-part.js';
import { definePart, type OperatorPart, type PartDoc } from '../parts/part.js';
import {
  definePolicyLoss as policyLossPart,
  type AnyTokenLoss,
  type BatchLossDefinition,
  type PolicyLossPart,
  type TokenLossDefinition,
} from '../parts/policy-loss-part.js';
import { algorithmPresets } from '../presets/table.js';
import type { AlgorithmPreset, PartRef } from '../parts/preset.js';
import { checkedLoss, checkedOperator, checkedStrategy, calling } from './checked-parts.js';

/** An entry of one of the tables, with its name. */
export type Definition =
  | {
      readonly kind: 'trinity-rft.algorithm';
      readonly name: string;
      readonly row: AlgorithmPreset;
      readonly parts: readonly Definition[];
    }
  | { readonly kind: 'trinity-rft.advantage'; readonly name: string; readonly row: AdvantagePart }
  | {
      readonly kind: 'trinity-rft.policy-loss';
      readonly name: string;
      readonly row: PolicyLossPart;
    }
  | { readonly kind: 'trinity-rft.operator'; readonly name: string; readonly row: OperatorPart };

type DefinitionOf<Kind extends Definition['kind']> = Extract<Definition, { readonly kind: Kind }>;
export type AlgorithmDefinition = DefinitionOf<'trinity-rft.algorithm'>;
export type AdvantageDefinition = DefinitionOf<'trinity-rft.advantage'>;
export type PolicyLossFnDefinition = DefinitionOf<'trinity-rft.policy-loss'>;
export type OperatorDefinition = DefinitionOf<'trinity-rft.operator'>;

const kinds: readonly unknown[] = [
  'trinity-rft.algorithm',
  'trinity-rft.advantage',
  'trinity-rft.policy-loss',
  'trinity-rft.operator',
] satisfies readonly Definition['kind'][];

/** Returns true for definitions made by this package, even by another copy of it. */
export function isAlgorithmPlugin(value: unknown): value is Definition {
  return (
    typeof value === 'object' &&
    value !== null &&
    kinds.includes((value as { kind?: unknown }).kind)
  );
}

/** Fields that every definition has. */
interface Named {
  /** Name in YAML. */
  readonly name: string;
  /** Documentation of the part. @default documentation whose summary is the name */
  readonly doc?: PartDoc;
}

/** Reference to a part: its name, its name with arguments, or its definition. */
type PartOf<D extends Definition> = string | PartRef | D;

export interface AlgorithmPluginOptions
  extends
    Named,
    Partial<Omit<AlgorithmPreset, 'doc' | 'advantageFn' | 'policyLossFn' | 'operators'>> {
  /** Algorithm from which all settings that are not given are taken. @default "grpo" */
  readonly base?: keyof typeof algorithmPresets;
  readonly advantageFn?: PartOf<AdvantageDefinition>;
  readonly policyLossFn?: PartOf<PolicyLossFnDefinition>;
  readonly operators?: readonly PartOf<OperatorDefinition>[];
}

const algorithmOptions = {
  base: 'any',
  doc: 'any',
  schema: 'any',
  repeatTimes: 'any',
  advantageFn: 'any',
  policyLossFn: 'any',
  klLossFn: 'any',
  klPenaltyFn: 'any',
  entropyLossFn: 'any',
  sampleStrategy: 'any',
  lossAggMode: 'any',
  lossAggNorm: 'any',
  operators: 'any',
  dynamicSampling: 'any',
} as const satisfies Record<keyof Omit<Required<AlgorithmPluginOptions>, 'name'>, 'any'>;

/**
 * Defines an `algorithm_type`, together with the parts that are given as definitions.
 * @throws ConfigError for an unknown `base` or option, and an invalid name
 */
export function defineAlgorithm(options: AlgorithmPluginOptions): AlgorithmDefinition {
  const { name, doc, base = 'grpo', advantageFn, policyLossFn, operators, ...settings } = options;
  const preset: AlgorithmPreset = pickRow<AlgorithmPreset>('algorithm', algorithmPresets, base);
  const given = [advantageFn, policyLossFn, ...(operators ?? [])];
  return {
    kind: 'trinity-rft.algorithm',
    name: checkPart('Algorithm', options, algorithmOptions),
    row: {
      ...preset,
      ...settings,
      ...(advantageFn !== undefined && { advantageFn: toRef(advantageFn) }),
      ...(policyLossFn !== undefined && { policyLossFn: toRef(policyLossFn) }),
      ...(operators && { operators: operators.map(toRef) }),
      doc: doc ?? named(name),
    },
    parts: given.filter(isAlgorithmPlugin),
  };
}

/**
 * Defines an `advantage_fn`. `byGroup` makes a strategy from a score per rollout. `onExperiences`
 * makes an `advantage` from a function over packed token arrays. Unless `comparesRuns` is false, a
 * configuration with one rollout per task is reported as a problem. Unless `keeps` says otherwise,
 * the function may select the rollouts that are trained on.
 */
export function defineAdvantage<S extends ArgSpec>(
  options: Named &
    Partial<AdvantageFacts> & {
      readonly args?: S;
      readonly create: (args: ArgValues<S>, seed: number) => AdvantageStrategy;
    },
): AdvantageDefinition {
  const { name, args = {} as S, doc = named(name), comparesRuns = true, create } = options;
  const { keeps = () => 'some' } = options;
  const who = `Advantage function "${name}"`;
  return {
    kind: 'trinity-rft.advantage',
    name: checkPart('Advantage function', options, {
      ...partOptions,
      comparesRuns: 'any',
      keeps: 'any',
    }),
    row: defineAdvantagePart({
      args,
      doc,
      comparesRuns,
      keeps,
      create: (...given) =>
        checkedStrategy(
          who,
          calling(`The create function of ${who}`, () => create(...given)),
        ),
    }),
  };
}

/**
 * Defines a `policy_loss_fn` with its derivative, either by a formula over tokens (`token`) or by a
 * function of the whole batch (`batch`). A formula can read only the quantities that `needs` declares.
 * @throws ConfigError for a definition with neither `token` nor `batch`, for an unknown option, and
 * for an invalid name
 */
export function definePolicyLoss<
  const S extends ArgSpec = Readonly<Record<never, never>>,
  Constants = ArgValues<S>,
  State = Constants,
  const TokenMean extends string = never,
  const RowMean extends string = never,
>(
  options: Named & TokenLossDefinition<S, Constants, State, TokenMean, RowMean>,
): PolicyLossFnDefinition;
export function definePolicyLoss<S extends ArgSpec>(
  options: Named & BatchLossDefinition<S>,
): PolicyLossFnDefinition;
export function definePolicyLoss(
  options: Named & (AnyTokenLoss<ArgSpec> | BatchLossDefinition<ArgSpec>),
): PolicyLossFnDefinition {
  const { name, doc = named(name), ...definition } = options;
  checkPart('Policy loss', options, lossOptions);
  const { token, batch } = options as Partial<AnyTokenLoss<ArgSpec> & BatchLossDefinition<ArgSpec>>;
  // Checked at run time, because a plugin may be JavaScript or written for another version.
  if (typeof token !== 'function' && typeof batch !== 'function')
    throw new ConfigError(
      `The policy loss "${name}" has neither \`token\` nor \`batch\`. Give it a formula over tokens, or a function of the whole batch.`,
      { code: 'LOSS_MISSING' },
    );
  return {
    kind: 'trinity-rft.policy-loss',
    name,
    row: policyLossPart({
      ...checkedLoss(`Policy loss "${name}"`, definition),
      doc,
    } as AnyTokenLoss<ArgSpec>),
  };
}

/** Defines an operator for `data_processor.experience_pipeline.operators`. */
export function defineOperator<S extends ArgSpec>(
  options: Named & {
    readonly args?: S;
    readonly create: (args: ArgValues<S>) => ExperienceOperator['apply'];
  },
): OperatorDefinition {
  const { name, args = {} as S, doc = named(name), create } = options;
  const who = `Operator "${name}"`;
  return {
    kind: 'trinity-rft.operator',
    name: checkPart('Operator', options, partOptions),
    row: definePart({
      args,
      doc,
      create: (given) =>
        checkedOperator(
          who,
          calling(`The create function of ${who}`, () => create(given)),
        ),
    }),
  };
}

function toRef(part: PartOf<Definition>): PartRef {
  return typeof part === 'string'
    ? { name: part }
    : isAlgorithmPlugin(part)
      ? { name: part.name }
      : part;
}

const partOptions = { args: 'any', doc: 'any', create: 'function' } as const;

const lossOptions = {
  args: 'any',
  doc: 'any',
  needs: 'any',
  ratios: 'any',
  lossMetric: 'any',
  tokenMeans: 'any',
  rowMeans: 'any',
  constants: 'any',
  prepare: 'any',
  row: 'any',
  token: 'any',
  metrics: 'any',
  aggregation: 'any',
  known: 'any',
  wrap: 'any',
  batch: 'any',
} as const satisfies Record<keyof AnyTokenLoss<ArgSpec> | 'batch', 'any'>;

const named = (name: string): PartDoc => ({ summary: name, formula: '' });

/** Checks a definition, and that its name begins with a letter. Returns the name. */
function checkPart<Options extends Named>(
  ...given: Parameters<typeof checkDefinition<Options>>
): string {
  const name = checkDefinition(...given);
  if (/^[A-Za-z]/.test(name)) return name;
  throw new ConfigError(
    `${given[0]} name "${name}" is invalid. Begin it with a letter, so that it needs no quotes in a YAML file.`,
    { code: 'NAME_INVALID' },
  );
}
