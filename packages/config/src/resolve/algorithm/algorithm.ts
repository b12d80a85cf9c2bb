/** Resolves and checks the algorithm: its preset, changed by the settings of the file. */
import type { AlgorithmPreset, PartRef } from '@trinity-rft/algorithm';
import { ConfigError } from '@trinity-rft/core';
import type { AlgorithmConfig, ModelConfig, PartConfig } from '../base/resolved.js';
import type { PartKey } from '../../schema/algorithm.js';
import { resolveSection } from '../../schema/resolve-section.js';
import { nodeAt, type KeyPath } from '../../source/node.js';
import type { StageContext } from '../base/context.js';
import { deriveOptimizer } from './optimizer.js';
import { needsOf } from './part-needs.js';
import { derivePart, placeOf } from './parts.js';
import { deriveRolloutCorrection } from './rollout-correction.js';

const none: PartRef = { name: 'none' };
const typeKey: KeyPath = ['algorithm', 'algorithm_type'];

/**
 * Returns the preset of the algorithm. For unknown names, which are already reported, returns grpo
 * or the first preset.
 */
export function presetOf({ input, tables }: StageContext): AlgorithmPreset {
  const { presets } = tables;
  const name = input.algorithm.algorithm_type;
  const [first] = Object.values(presets);
  if (first === undefined)
    throw new ConfigError('The tables have no algorithm. Pass tables with at least one preset.', {
      code: 'TABLES_EMPTY',
    });
  return (Object.hasOwn(presets, name) ? presets[name] : presets['grpo']) ?? first;
}

/**
 * Returns true if dynamic sampling is on. The value in the file takes precedence over the default
 * of the algorithm.
 */
export const fillsExploreSteps = (context: StageContext): boolean =>
  context.mode === 'both' &&
  (context.input.explorer.dynamic_sampling.enable ?? presetOf(context).dynamicSampling ?? false);

export function deriveAlgorithm(
  context: StageContext,
  model: ModelConfig,
  engine: string,
): AlgorithmConfig {
  const preset = presetOf(context);
  const parts = withoutEntropyMetric(context, engine, deriveParts(context, preset));
  if (preset.schema !== 'dpo') warnOfKlLoss(context, parts.klLossFn);
  warnOfNone(context, parts);
  const config = {
    ...resolveSection(context.sections.algorithm, context.input.algorithm),
    ...parts,
    schema: preset.schema,
    repeatTimes: deriveRepeatTimes(context, preset, comparesRuns(context, parts)),
    needsRollouts: preset.schema === 'experience',
    rolloutCorrection: deriveRolloutCorrection(context, preset.schema === 'experience'),
    optimizer: deriveOptimizer(context),
    ...deriveAggregation(context, preset, parts.policyLossFn, model),
  };
  return { ...config, needs: needsOf(context, config) };
}

type Table = Parameters<typeof derivePart>[2];

/**
 * Returns the part that the file selects. Returns the part of the preset if the file names no part
 * or an unknown part.
 */
function choosePart(context: StageContext, key: PartKey, table: Table, own: PartRef): PartConfig {
  const name = context.input.algorithm[key] ?? own.name;
  const part = derivePart(context, placeOf(key), table, { name, preset: own });
  return part ?? { name: own.name, args: own.args ?? {} };
}

function deriveParts(context: StageContext, preset: AlgorithmPreset) {
  const { policyLossFns, klFns, entropyLossFns, sampleStrategies } = context.tables;
  const choose = (key: PartKey, table: Table, own: PartRef): PartConfig =>
    choosePart(context, key, table, own);
  const klLossFn = choose('kl_loss_fn', klFns, preset.klLossFn);
  return {
    sampleStrategy: choose('sample_strategy', sampleStrategies, preset.sampleStrategy),
    advantageFn: deriveAdvantage(context, preset),
    policyLossFn: choose('policy_loss_fn', policyLossFns, preset.policyLossFn),
    klLossFn: preset.schema === 'dpo' ? keepReference(context, preset, klLossFn) : klLossFn,
    klPenaltyFn: choose('kl_penalty_fn', klFns, preset.klPenaltyFn ?? none),
    entropyLossFn: choose('entropy_loss_fn', entropyLossFns, preset.entropyLossFn),
  };
}

/** Warns of a KL estimator whose gradient is not the gradient of the KL divergence. */
function warnOfKlLoss({ tables, warn }: StageContext, { name, args }: PartConfig): void {
  const caution = tables.klFns[name]?.lossCaution;
  if (caution !== undefined && args['klCoef'] !== 0)
    warn(
      ['algorithm', 'kl_loss_fn'],
      `"${name}" is accepted. ${caution}. Use k2, k3 or low_var_kl in the loss, or ${name} as kl_penalty_fn.`,
    );
}

type Parts = ReturnType<typeof deriveParts>;

/**
 * Warns of arguments of a loss or penalty that is `none`, because they have no effect. Does not
 * warn if their coefficient is 0.
 */
function warnOfNone(context: StageContext, parts: Parts): void {
  const kinds = [
    ['kl_penalty_fn', parts.klPenaltyFn, 'klCoef'],
    ['kl_loss_fn', parts.klLossFn, 'klCoef'],
    ['entropy_loss_fn', parts.entropyLossFn, 'entropyCoef'],
  ] as const;
  for (const [key, { name, args }, coefficient] of kinds)
    if (name === 'none' && args[coefficient] !== 0 && givesEntries(context, placeOf(key).args))
      context.ignore(placeOf(key).args, `${key} is none. Choose another ${key}.`);
}

/** Returns true if a map with at least one entry is set for this stage. */
function givesEntries(context: StageContext, path: KeyPath): boolean {
  const node = nodeAt(context.tree, path);
  return node?.kind === 'map' && node.entries.size > 0;
}

/**
 * Removes an entropy term with coefficient 0 if the engine computes no entropy. Such a term would
 * only report a metric.
 */
function withoutEntropyMetric(context: StageContext, engine: string, parts: Parts): Parts {
  const { name, args } = parts.entropyLossFn;
  const computed = context.engines[engine]?.capabilities.entropy ?? true;
  if (computed || name === 'none' || args['entropyCoef'] !== 0) return parts;
  if (context.isSet('algorithm', 'entropy_loss_fn'))
    context.ignore(
      ['algorithm', 'entropy_loss_fn'],
      `The engine "${engine}" computes no entropy, so none is reported.`,
    );
  return { ...parts, entropyLossFn: { name: 'none', args } };
}

function deriveAdvantage(
  context: StageContext,
  { schema, advantageFn: own }: AlgorithmPreset,
): PartConfig | undefined {
  const { algorithm } = context.input;
  if (schema !== 'experience') {
    if (context.isSet('algorithm', 'advantage_fn'))
      context.ignore(['algorithm', 'advantage_fn'], `${algorithm.algorithm_type} has no rewards.`);
    return undefined;
  }
  if (own === undefined && algorithm.advantage_fn === null) return undefined;
  return choosePart(
    context,
    'advantage_fn',
    context.tables.advantageFns,
    own ?? { name: algorithm.advantage_fn ?? '' },
  );
}

/**
 * Returns true if the advantage function compares the rollouts of a task with each other. For some
 * functions, this depends on the arguments.
 */
export const comparesRuns = (
  { tables }: Pick<StageContext, 'tables'>,
  { advantageFn: chosen }: Pick<AlgorithmConfig, 'advantageFn'>,
): boolean => (chosen && tables.advantageFns[chosen.name]?.comparesRuns(chosen.args)) ?? false;

/** Returns how many rollouts of a task the advantage function leaves to be trained on. */
export const keptRuns = (
  { tables }: StageContext,
  { advantageFn: chosen }: Pick<AlgorithmConfig, 'advantageFn'>,
): 'all' | 'some' | 'one' =>
  (chosen && tables.advantageFns[chosen.name]?.keeps(chosen.args)) ?? 'all';

function deriveRepeatTimes(
  context: StageContext,
  preset: AlgorithmPreset,
  compares: boolean,
): number {
  const { mode, algorithm } = context.input;
  if (preset.schema !== 'experience') return 1;
  const runs = algorithm.repeat_times ?? preset.repeatTimes;
  if (runs > 1 || !compares || mode === 'bench' || workflowsSelect(context)) return runs;
  const ownDefault = preset.repeatTimes > 1 ? `; ${preset.repeatTimes} if the key is left out` : '';
  const got =
    algorithm.repeat_times === null
      ? `is not set, which means 1 for ${algorithm.algorithm_type}`
      : 'got 1';
  const message = `${got}, but ${algorithm.advantage_fn ?? algorithm.algorithm_type} compares the runs of one task with each other, so it learns nothing from a single run. Use at least 2${ownDefault}.`;
  context.report(['algorithm', 'repeat_times'], message, [typeKey, ['algorithm', 'advantage_fn']]);
  return runs;
}

/** Returns true if every workflow for training selects the experiences to train on. */
export function workflowsSelect({ input, workflows }: StageContext): boolean {
  const { tasksets, default_workflow_type: shared } = input.buffer.explorer_input;
  const names = tasksets.map(({ default_workflow_type: own }) => own ?? shared);
  return names.length > 0 && names.every((name) => workflows?.find(name ?? '')?.selects === true);
}

/** Loss aggregation modes whose divisor `loss_agg_norm` sets. */
const normedModes = ['seq-mean-token-sum', 'seq-mean-token-sum-norm'];
const isNormed = (mode: unknown): boolean => normedModes.includes(mode as string);

/**
 * Derives the loss aggregation. `algorithm.loss_agg_mode` applies to all terms, and the argument
 * `loss_agg_mode` of the policy loss only to the policy loss.
 */
function deriveAggregation(
  context: StageContext,
  preset: AlgorithmPreset,
  { args }: PartConfig,
  { maxResponseTokens }: ModelConfig,
): Pick<AlgorithmConfig, 'lossAggMode' | 'lossAggNorm'> {
  const { loss_agg_mode: own, loss_agg_norm: norm } = context.input.algorithm;
  const { lossAggMode: ofLoss } = args;
  const divisor = norm ?? preset.lossAggNorm;
  const lossAggMode = own ?? preset.lossAggMode;
  const normKey: KeyPath = ['algorithm', 'loss_agg_norm'];
  if (context.isSet(...normKey) && ![lossAggMode, ...Object.values(args)].some(isNormed))
    context.ignore(
      normKey,
      `It divides only the sums of ${normedModes.join(' and ')}, and loss_agg_mode is ${typeof ofLoss === 'string' ? ofLoss : lossAggMode}.`,
    );
  return {
    lossAggMode,
    lossAggNorm: divisor === 'max_response_tokens' ? maxResponseTokens : divisor,
  };
}

/** Replaces the KL loss `none` of dpo with the KL loss of the preset, as Trinity-RFT does. */
function keepReference(
  context: StageContext,
  preset: AlgorithmPreset,
  klLoss: PartConfig,
): PartConfig {
  if (klLoss.name !== 'none' || preset.klLossFn.name === 'none') return klLoss;
  const { name, args = {} } = preset.klLossFn;
  context.warn(
    ['algorithm', 'kl_loss_fn'],
    `"none" is read as "${name}", as in Trinity-RFT. Set kl_loss_fn_args.kl_coef: 0 for no KL loss.`,
  );
  return (
    derivePart(context, placeOf('kl_loss_fn'), context.tables.klFns, {
      name,
      preset: preset.klLossFn,
    }) ?? { name, args }
  );
}
