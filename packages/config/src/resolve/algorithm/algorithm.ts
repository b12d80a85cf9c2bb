/** The algorithm: its preset, completed by the file and checked. */
import {
  createAlgorithm,
  type AdvantagePart,
  type AlgorithmPreset,
  type AlgorithmTables,
  type PartRef,
} from '@trinity-rft/algorithm';
import { ConfigError, noNeeds, type AlgorithmNeeds } from '@trinity-rft/core';
import type { AlgorithmConfig, ModelConfig, PartConfig } from '../base/resolved.js';
import type { PartKey } from '../../schema/algorithm.js';
import { resolveSection } from '../../schema/resolve-section.js';
import type { KeyPath } from '../../source/node.js';
import { checkNeeds } from './algorithm-needs.js';
import type { StageContext } from '../base/context.js';
import { deriveOptimizer } from './optimizer.js';
import { derivePart, madeOf } from './parts.js';

const kinds: Readonly<Record<PartKey, string>> = {
  sample_strategy: 'sample strategy',
  advantage_fn: 'advantage function',
  kl_penalty_fn: 'KL penalty',
  policy_loss_fn: 'policy loss',
  kl_loss_fn: 'KL loss',
  entropy_loss_fn: 'entropy loss',
};

const none: PartRef = { name: 'none' };
const typeKey: KeyPath = ['algorithm', 'algorithm_type'];

/**
 * The preset of the stage's algorithm; any other where there is none, which the schema or the
 * status table have told.
 */
export function presetOf({ input, tables }: StageContext): AlgorithmPreset {
  const { presets } = tables;
  const name = input.algorithm.algorithm_type;
  const [first] = Object.values(presets);
  if (first === undefined)
    throw new ConfigError('The tables hold no algorithm. Pass some with at least one preset.', {
      code: 'TABLES_EMPTY',
    });
  return (Object.hasOwn(presets, name) ? presets[name] : presets['grpo']) ?? first;
}

export function deriveAlgorithm(
  context: StageContext,
  model: ModelConfig,
  engine: string,
): AlgorithmConfig {
  const { algorithm } = context.input;
  const { tables } = context;
  const preset = presetOf(context);
  const part = (key: PartKey, table: Parameters<typeof derivePart>[2], own: PartRef): PartConfig =>
    derivePart(context, placeOf(key), table, { name: algorithm[key] ?? own.name, preset: own }) ?? {
      name: own.name,
      args: own.args ?? {},
    };
  const parts = {
    advantageFn: deriveAdvantage(context, preset, part),
    policyLossFn: part('policy_loss_fn', tables.policyLossFns, preset.policyLossFn),
    klLossFn: part('kl_loss_fn', tables.klFns, preset.klLossFn),
    klPenaltyFn: part('kl_penalty_fn', tables.klFns, preset.klPenaltyFn ?? none),
    entropyLossFn: part('entropy_loss_fn', tables.entropyLossFns, preset.entropyLossFn),
  };
  const config = {
    ...resolveSection(context.sections.algorithm, algorithm),
    schema: preset.schema,
    repeatTimes: deriveRepeatTimes(
      context,
      preset,
      parts.advantageFn && tables.advantageFns[parts.advantageFn.name],
    ),
    needsRollouts: preset.schema === 'experience',
    optimizer: deriveOptimizer(context),
    sampleStrategy: part('sample_strategy', tables.sampleStrategies, preset.sampleStrategy),
    ...parts,
    klLossFn:
      preset.schema === 'dpo' ? keepReference(context, preset, parts.klLossFn) : parts.klLossFn,
    ...deriveAggregation(context, preset, parts.policyLossFn, model),
  };
  const needs = needsOf(context, tables, config);
  checkNeeds(context, { ...config, needs }, engine);
  return { ...config, needs };
}

const placeOf = (key: PartKey) => ({
  name: ['algorithm', key],
  args: ['algorithm', `${key}_args`],
  kind: kinds[key],
});

function deriveAdvantage(
  context: StageContext,
  { schema, advantageFn: own }: AlgorithmPreset,
  part: (key: PartKey, table: AlgorithmTables['advantageFns'], own: PartRef) => PartConfig,
): PartConfig | undefined {
  const { algorithm } = context.input;
  if (schema !== 'experience') {
    if (context.isSet('algorithm', 'advantage_fn'))
      context.warn(
        ['algorithm', 'advantage_fn'],
        `ignored. ${algorithm.algorithm_type} has no rewards.`,
      );
    return undefined;
  }
  if (own === undefined && algorithm.advantage_fn === null) return undefined;
  return part(
    'advantage_fn',
    context.tables.advantageFns,
    own ?? { name: algorithm.advantage_fn ?? '' },
  );
}

function deriveRepeatTimes(
  context: StageContext,
  preset: AlgorithmPreset,
  advantage: AdvantagePart | undefined,
): number {
  const { mode, algorithm } = context.input;
  if (preset.schema !== 'experience') return 1;
  const runs = algorithm.repeat_times ?? preset.repeatTimes;
  if (runs > 1 || advantage?.comparesRuns !== true || mode === 'bench') return runs;
  const ownDefault = preset.repeatTimes > 1 ? `; ${preset.repeatTimes} if the key is left out` : '';
  const got =
    algorithm.repeat_times === null
      ? `is not set, which means 1 for ${algorithm.algorithm_type}`
      : 'got 1';
  const message = `${got}, but ${algorithm.advantage_fn ?? algorithm.algorithm_type} compares the runs of one task with each other, so it learns nothing from a single run. Use at least 2${ownDefault}.`;
  context.report(['algorithm', 'repeat_times'], message, [typeKey, ['algorithm', 'advantage_fn']]);
  return runs;
}

/**
 * `algorithm.loss_agg_mode` is for all terms, the argument of the policy loss for that one; both
 * and different is refused.
 */
function deriveAggregation(
  context: StageContext,
  preset: AlgorithmPreset,
  { args }: PartConfig,
  { maxResponseTokens }: ModelConfig,
): Pick<AlgorithmConfig, 'lossAggMode' | 'lossAggNorm'> {
  const { loss_agg_mode: own, loss_agg_norm: norm } = context.input.algorithm;
  const path: KeyPath = ['algorithm', 'policy_loss_fn_args', 'loss_agg_mode'];
  const { lossAggMode: ofLoss } = args;
  if (own !== null && context.isSet(...path) && typeof ofLoss === 'string' && ofLoss !== own) {
    context.report(
      path,
      `got "${ofLoss}", but algorithm.loss_agg_mode says "${own}". Keep one of the two.`,
      [['algorithm', 'loss_agg_mode']],
    );
  }
  const divisor = norm ?? preset.lossAggNorm;
  return {
    lossAggMode: own ?? preset.lossAggMode,
    lossAggNorm: divisor === 'max_response_tokens' ? maxResponseTokens : divisor,
  };
}

/** As the original does, a KL loss belongs to dpo; its coefficient may be 0. */
function keepReference(
  context: StageContext,
  preset: AlgorithmPreset,
  klLoss: PartConfig,
): PartConfig {
  if (klLoss.name !== 'none' || preset.klLossFn.name === 'none') return klLoss;
  const { name, args = {} } = preset.klLossFn;
  context.warn(
    ['algorithm', 'kl_loss_fn'],
    `"none" is read as "${name}", as in the original. Set kl_loss_fn_args.kl_coef: 0 for no KL loss.`,
  );
  return (
    derivePart(context, placeOf('kl_loss_fn'), context.tables.klFns, {
      name,
      preset: preset.klLossFn,
    }) ?? { name, args }
  );
}

type Parts = Pick<
  AlgorithmConfig,
  'advantageFn' | 'policyLossFn' | 'klLossFn' | 'klPenaltyFn' | 'entropyLossFn' | 'lossAggMode'
>;

/**
 * Makes every part, and then the whole, only to see whether they can be made and what they need.
 */
function needsOf(context: StageContext, tables: AlgorithmTables, parts: Parts): AlgorithmNeeds {
  const { advantageFn, policyLossFn, klLossFn, klPenaltyFn, entropyLossFn } = parts;
  const check = <P extends MadePart>(
    key: PartKey,
    { name }: PartConfig,
    table: Readonly<Record<string, P>>,
    make: (row: P, owner: string) => unknown,
  ) => {
    const row = table[name];
    return (
      row !== undefined &&
      madeOf(context, placeOf(key), row.args, () => [make(row, `${kinds[key]} "${name}"`)]) !==
        undefined
    );
  };
  const rollouts = advantageFn !== undefined;
  const all = [
    !rollouts ||
      check('advantage_fn', advantageFn, tables.advantageFns, (row, owner) =>
        row.make(owner, advantageFn.args, 0),
      ),
    check('policy_loss_fn', policyLossFn, tables.policyLossFns, (row, owner) =>
      row.make(owner, policyLossFn.args),
    ),
    check('kl_loss_fn', klLossFn, tables.klFns, (row, owner) => row.make(owner, klLossFn.args)),
    check('entropy_loss_fn', entropyLossFn, tables.entropyLossFns, (row, owner) =>
      row.make(owner, entropyLossFn.args),
    ),
  ];
  if (all.includes(false) || !advantagesThere(context, tables, parts)) return noNeeds;
  const name: KeyPath = context.isSet('algorithm', 'kl_penalty_fn')
    ? ['algorithm', 'kl_penalty_fn']
    : typeKey;
  const spec = tables.klFns[klPenaltyFn.name]?.args ?? {};
  return (
    madeOf(context, { ...placeOf('kl_penalty_fn'), name }, spec, () =>
      createAlgorithm(parts, { tables }),
    )?.needs ?? noNeeds
  );
}

type MadePart = Pick<AlgorithmTables['policyLossFns'][string], 'args'>;

/** A loss over rollouts has advantages to weigh them by. */
function advantagesThere(
  context: StageContext,
  tables: AlgorithmTables,
  { advantageFn, policyLossFn }: Parts,
): boolean {
  const row = tables.policyLossFns[policyLossFn.name];
  const needs = row?.make(`policy loss "${policyLossFn.name}"`, policyLossFn.args).needs;
  if (needs?.rollouts !== true || advantageFn !== undefined) return true;
  const name = context.input.algorithm.algorithm_type;
  context.report(
    ['algorithm', 'policy_loss_fn'],
    `got "${policyLossFn.name}", which needs advantages, and ${name} has none. Use sft, or another algorithm_type.`,
    [typeKey],
  );
  return false;
}
