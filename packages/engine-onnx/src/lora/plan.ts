/** Plans which layers get a low-rank adapter, with its rank and scale. */
import { EngineError } from '@trinity-rft/core';

import type { ModelConfig } from '../model/config.js';
import { parameterSpecs, type ParameterSpec } from '../model/parameters.js';

/**
 * Options of new adapters. Each adapted layer trains matrices A and B, and (alpha / rank) B A is
 * added to its weight.
 */
export interface NewAdapters {
  /** Number of rows of A and of columns of B, at least 1. */
  readonly rank: number;
  /** Numerator of the scale alpha / rank; positive. */
  readonly alpha: number;
  /**
   * Modules that get an adapter, by their names in PEFT, such as `q_proj`. `all-linear` selects
   * every linear layer except the head, routers and experts.
   * @default "all-linear"
   */
  readonly targetModules?: 'all-linear' | readonly string[];
  /** Seed for the random initial values of A. @default 0 */
  readonly seed?: number;
}

/** Existing adapters: a folder in PEFT's layout. The folder defines rank, scale and layers. */
export interface StoredAdapters {
  readonly path: string;
}

export type LoraOptions = NewAdapters | StoredAdapters;

/** Rank, scale and layers of adapters, after validation. */
export interface AdapterPlan {
  readonly rank: number;
  readonly alpha: number;
  /** Names of the modules with adapters, in the order of the model. */
  readonly modules: readonly string[];
}

/** One layer with an adapter. */
export interface AdapterTarget {
  /** The frozen matrix W [out, in]. */
  readonly weight: ParameterSpec;
  /** A [r, in]; its offset refers to the flat array of all adapters. */
  readonly a: ParameterSpec;
  /** B [out, r] */
  readonly b: ParameterSpec;
}

/**
 * Matches weights of linear layers. Experts have no adapters: PEFT does not treat them as layers.
 */
const linearName =
  /(?<!\.experts\.\d+)\.(?<module>\w+_(?:proj|linear)|in_proj_\w+|w[123])\.weight$/;

const moduleOf = ({ name }: ParameterSpec): string | undefined =>
  linearName.exec(name)?.groups?.['module'];

/** Returns the names of a model's linear layers, in the order of the model. */
function linearModules(config: ModelConfig): readonly string[] {
  return [...new Set(parameterSpecs(config).flatMap((spec) => moduleOf(spec) ?? []))];
}

/**
 * Plans the adapters of a model.
 * @throws EngineError naming the option that does not match the model
 */
export function planAdapters(
  config: ModelConfig,
  { rank, alpha, targetModules = 'all-linear' }: NewAdapters,
): AdapterPlan {
  if (!Number.isInteger(rank) || rank < 1)
    throw invalid(`The rank of the adapters is ${rank}; expected an integer of at least 1.`);
  if (!(alpha > 0) || !Number.isFinite(alpha))
    throw invalid(`The alpha of the adapters is ${alpha}; expected a positive number.`);
  return { rank, alpha, modules: namedModules(linearModules(config), targetModules) };
}

function namedModules(
  known: readonly string[],
  named: 'all-linear' | readonly string[],
): readonly string[] {
  if (named === 'all-linear') return known;
  const unknown = named.find((name) => !known.includes(name));
  if (unknown === undefined && named.length > 0)
    return known.filter((name) => named.includes(name));
  const what =
    unknown === undefined
      ? 'No layer is named to get an adapter'
      : `"${unknown}" is not a layer that can get an adapter`;
  throw invalid(`${what}; expected all-linear, or some of ${known.join(', ')}.`);
}

const invalid = (message: string): EngineError =>
  new EngineError(message, { code: 'ENGINE_OPTIONS' });

/** Returns the factor by which B A is multiplied. */
export const adapterScale = ({ rank, alpha }: AdapterPlan): number => alpha / rank;

/**
 * Returns every layer with an adapter, in the order of the model. The flat array of all adapters
 * holds A and then B of each layer.
 */
export function adapterTargets(
  config: ModelConfig,
  { rank, modules }: AdapterPlan,
): readonly AdapterTarget[] {
  let end = 0;
  const next = (name: string, shape: readonly [number, number]): ParameterSpec => {
    const [offset, size] = [end, shape[0] * shape[1]];
    end += size;
    return { name, shape, offset, size };
  };
  return parameterSpecs(config)
    .filter((spec) => modules.includes(moduleOf(spec) ?? ''))
    .map((weight) => {
      const layer = weight.name.slice(0, -'.weight'.length);
      const [out, input] = weight.shape as [number, number];
      return {
        weight,
        a: next(`${layer}.lora_A.weight`, [rank, input]),
        b: next(`${layer}.lora_B.weight`, [out, rank]),
      };
    });
}

/** Returns the matrices of all adapters, in the order of their flat array. */
export function adapterSpecs(targets: readonly AdapterTarget[]): readonly ParameterSpec[] {
  return targets.flatMap(({ a, b }) => [a, b]);
}
