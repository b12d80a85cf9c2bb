/** Which layers get a low-rank adapter, of what rank and scale. */
import { EngineError } from '@trinity-rft/core';

import type { ModelConfig } from '../model/config.js';
import { parameterSpecs, type ParameterSpec } from '../model/parameters.js';

/** New adapters: what is learnt of a layer is alpha / rank B A. */
export interface NewAdapters {
  /** Rows of A and columns of B, at least 1. */
  readonly rank: number;
  /** Positive. */
  readonly alpha: number;
  /**
   * Names as PEFT has them, `q_proj` for one; `all-linear` is every linear layer but the head.
   * @default "all-linear"
   */
  readonly targetModules?: 'all-linear' | readonly string[];
  /** Of the beginning of A. @default 0 */
  readonly seed?: number;
}

/** Adapters that exist: a folder as PEFT writes it, which says rank, scale and layers. */
export interface StoredAdapters {
  readonly path: string;
}

export type LoraOptions = NewAdapters | StoredAdapters;

/** {@link NewAdapters} with its names checked. */
export interface AdapterPlan {
  readonly rank: number;
  readonly alpha: number;
  /** In the order of the model. */
  readonly modules: readonly string[];
}

/** One layer with an adapter. */
export interface AdapterTarget {
  /** The frozen matrix W [out, in]. */
  readonly weight: ParameterSpec;
  /** A [r, in]; offsets are those of the flat array of all adapters. */
  readonly a: ParameterSpec;
  /** B [out, r] */
  readonly b: ParameterSpec;
}

const linearName = /\.(?<module>\w+_proj)\.weight$/;

const moduleOf = ({ name }: ParameterSpec): string | undefined =>
  linearName.exec(name)?.groups?.['module'];

/** The names that a model knows, in its order. */
function linearModules(config: ModelConfig): readonly string[] {
  return [...new Set(parameterSpecs(config).flatMap((spec) => moduleOf(spec) ?? []))];
}

/** @throws EngineError naming what does not fit the model */
export function planAdapters(
  config: ModelConfig,
  { rank, alpha, targetModules = 'all-linear' }: NewAdapters,
): AdapterPlan {
  if (!Number.isInteger(rank) || rank < 1)
    throw new EngineError(
      `The rank of the adapters is ${rank}; expected an integer of at least 1.`,
      { code: 'ENGINE_OPTIONS' },
    );
  if (!(alpha > 0) || !Number.isFinite(alpha))
    throw new EngineError(`The alpha of the adapters is ${alpha}; expected a positive number.`, {
      code: 'ENGINE_OPTIONS',
    });
  const known = linearModules(config);
  if (targetModules === 'all-linear') return { rank, alpha, modules: known };
  const unknown = targetModules.find((name) => !known.includes(name));
  if (unknown !== undefined || targetModules.length === 0) {
    const what =
      unknown === undefined
        ? 'No layer is named to get an adapter'
        : `"${unknown}" is no layer that can get an adapter`;
    throw new EngineError(`${what}; expected all-linear, or some of ${known.join(', ')}.`, {
      code: 'ENGINE_OPTIONS',
    });
  }
  return { rank, alpha, modules: known.filter((name) => targetModules.includes(name)) };
}

/** Factor on B A. */
export const adapterScale = ({ rank, alpha }: AdapterPlan): number => alpha / rank;

/**
 * Every layer with an adapter, in the order of the model: A, then B of each lie one after the other
 * in the flat array of all adapters.
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

/** The matrices of all adapters, in the order of their flat array. */
export function adapterSpecs(targets: readonly AdapterTarget[]): readonly ParameterSpec[] {
  return targets.flatMap(({ a, b }) => [a, b]);
}
