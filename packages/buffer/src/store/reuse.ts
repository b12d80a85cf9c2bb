/**
 * Rules for training on experiences more than once: the order, the maximum number of uses, and the
 * cooldown. The rules are independent of how rows are stored: the pool applies them, and the row
 * driver reports how often each row was used.
 */
import { type Clock, createRandom, deriveSeed } from '@trinity-rft/core';
import type { StoredRow } from './row-driver.js';
import { exploreStepOf, taskOf } from './row-names.js';

export interface Reuse {
  /**
   * Returns the key of the item that a row belongs to. Rows of an item are used together and share
   * one priority.
   */
  readonly itemOf: (row: StoredRow) => string;
  /**
   * Returns the priority of an item, given its first row. Items with a higher priority are used
   * first. If priorities are equal, the least recently used item is used first.
   */
  readonly priority: (row: StoredRow) => number;
  /** Maximum number of train steps that may use an experience. */
  readonly maxUses: number;
  /** Minimum number of milliseconds between two uses. */
  readonly cooldownMs: number;
  /**
   * Maximum number of items in the pool. If there are more, those with the lowest priority are
   * evicted.
   */
  readonly capacity: number;
  /**
   * True if every batch must contain an experience that was never trained on, so that a trainer
   * waits for the explorer.
   */
  readonly needsNew: boolean;
  /**
   * True if the source ends when every experience was trained on once; false if it ends when no
   * experience may be used again.
   */
  readonly endsWithoutNew: boolean;
  readonly clock: Pick<Clock, 'now' | 'after'>;
}

export interface PriorityReplayOptions extends Pick<
  Reuse,
  'capacity' | 'needsNew' | 'endsWithoutNew' | 'clock'
> {
  readonly priorityFn: PriorityFn;
  readonly priorityFnArgs?: PriorityArgs;
  /**
   * Minimum number of milliseconds between two uses of an experience.
   * @default undefined: experiences are used only once
   */
  readonly reuseCooldownMs?: number;
  /** Root seed of the training run. */
  readonly seed: number;
}

type PriorityFn = 'linear_decay' | 'decay_limit_randomization';

interface PriorityArgs {
  /** Amount by which each use lowers the priority. @default 2 */
  readonly decay?: number;
  /**
   * For decay_limit_randomization: maximum number of uses of an experience; 0 = no limit.
   * @default 3
   */
  readonly useCountLimit?: number;
  /** For decay_limit_randomization: standard deviation of the noise. @default 0 */
  readonly sigma?: number;
}

/**
 * Creates the rules of Trinity-RFT's replay buffer. An item consists of all rows of an explore step
 * that have been used equally often and whose last use was by the same train step. The priority of
 * an item is `policy version - decay * uses`. `decay_limit_randomization` adds the noise
 * `sigma * N(0, 1)`, which differs between items and uses but is determined by the seed.
 */
export function priorityReplay(options: PriorityReplayOptions): Reuse {
  const { priorityFn, priorityFnArgs = {}, reuseCooldownMs, seed, ...limits } = options;
  const { decay = 2, useCountLimit = 3, sigma = 0 } = priorityFnArgs;
  const randomized = priorityFn === 'decay_limit_randomization';
  const itemOf = (row: StoredRow): string =>
    `${exploreStepOf(row)}/${row.uses ?? 0}/${row.lastUse ?? 0}`;
  const noise = (row: StoredRow): number =>
    randomized && sigma > 0
      ? sigma * createRandom(deriveSeed(seed, 'replay', itemOf(row))).normal()
      : 0;
  const limit = randomized && useCountLimit > 0 ? useCountLimit : Infinity;
  return {
    ...limits,
    itemOf,
    priority: (row) => row.policyVersion - decay * (row.uses ?? 0) + noise(row),
    maxUses: reuseCooldownMs === undefined ? 1 : limit,
    cooldownMs: reuseCooldownMs ?? 0,
  };
}

export interface EpochsOptions {
  /** Number of passes over all experiences. */
  readonly totalEpochs: number;
  /** Root seed of the training run. */
  readonly seed: number;
  readonly clock: Reuse['clock'];
}

/**
 * Creates the rules for several passes over all experiences. The first pass uses rows in the order
 * in which they were stored. Each later pass shuffles the tasks.
 */
export function epochs({ totalEpochs, seed, clock }: EpochsOptions): Reuse {
  const place = (row: StoredRow, epoch: number): number =>
    epoch === 0 ? 0 : createRandom(deriveSeed(seed, 'epoch', epoch, taskOf(row))).next();
  return {
    itemOf: (row) => `${row.uses ?? 0}/${taskOf(row)}`,
    priority: (row) => -(row.uses ?? 0) - place(row, row.uses ?? 0),
    maxUses: totalEpochs,
    cooldownMs: 0,
    capacity: Infinity,
    needsNew: false,
    endsWithoutNew: false,
    clock,
  };
}
