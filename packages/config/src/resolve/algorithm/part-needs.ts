/** Computes the combined needs of an algorithm's parts. */
import { createAlgorithm, type AlgorithmTables } from '@trinity-rft/algorithm';
import { type AlgorithmNeeds, noNeeds } from '@trinity-rft/core';
import type { PartKey } from '../../schema/algorithm.js';
import type { KeyPath } from '../../source/node.js';
import type { StageContext } from '../base/context.js';
import type { AlgorithmConfig, PartConfig } from '../base/resolved.js';
import { kinds, placeOf, tryBuild } from './parts.js';

type Parts = Pick<
  AlgorithmConfig,
  'advantageFn' | 'policyLossFn' | 'klLossFn' | 'klPenaltyFn' | 'entropyLossFn' | 'lossAggMode'
>;

const typeKey: KeyPath = ['algorithm', 'algorithm_type'];

/**
 * Returns the needs of the algorithm. Creates every part before the algorithm, so that problems are
 * reported at the key of the part. Returns no needs if a part is invalid.
 */
export function needsOf(context: StageContext, parts: Parts): AlgorithmNeeds {
  if (!canBuildParts(context, parts) || !hasAdvantages(context, parts)) return noNeeds;
  const { tables } = context;
  const place = placeOf('kl_penalty_fn');
  const name = context.isSet(...place.name) ? place.name : typeKey;
  const spec = tables.klFns[parts.klPenaltyFn.name]?.args ?? {};
  const algorithm = tryBuild(context, { ...place, name }, spec, () =>
    createAlgorithm(parts, { tables }),
  );
  return algorithm?.needs ?? noNeeds;
}

type Row = Pick<AlgorithmTables['policyLossFns'][string], 'args'>;

function canBuildParts(context: StageContext, parts: Parts): boolean {
  const { advantageFn, policyLossFn, klLossFn, entropyLossFn } = parts;
  const { tables } = context;
  const rollouts = advantageFn !== undefined;
  const canBuild = <R extends Row>(
    key: PartKey,
    { name }: PartConfig,
    table: Readonly<Record<string, R>>,
    build: (row: R, owner: string) => unknown,
  ): boolean => {
    const row = table[name];
    if (row === undefined) return false;
    const owner = `${kinds[key]} "${name}"`;
    return tryBuild(context, placeOf(key), row.args, () => [build(row, owner)]) !== undefined;
  };
  const results = [
    !rollouts ||
      canBuild('advantage_fn', advantageFn, tables.advantageFns, (row, owner) =>
        row.make(owner, advantageFn.args, 0),
      ),
    canBuild('policy_loss_fn', policyLossFn, tables.policyLossFns, (row, owner) =>
      row.make(owner, policyLossFn.args),
    ),
    canBuild('kl_loss_fn', klLossFn, tables.klFns, (row, owner) => row.make(owner, klLossFn.args)),
    canBuild('entropy_loss_fn', entropyLossFn, tables.entropyLossFns, (row, owner) =>
      row.make(owner, entropyLossFn.args),
    ),
  ];
  return !results.includes(false);
}

/**
 * Returns false, and reports a problem, if the policy loss needs advantages but the algorithm has
 * none.
 */
function hasAdvantages(context: StageContext, { advantageFn, policyLossFn }: Parts): boolean {
  const row = context.tables.policyLossFns[policyLossFn.name];
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
