/**
 * When an experience is trained on more than once: in which order, how often and after which pause.
 * It knows no storage: the pool of rows asks it, and the row driver says how often each was used.
 */
import { type Clock, createRandom, deriveSeed } from '@trinity-rft/core';
import type { StoredRow } from './row-driver.js';
import { exploreStepOf, taskOf } from './row-names.js';

export interface Reuse {
  /** Rows of one item come together: it has one priority. */
  readonly itemOf: (row: StoredRow) => string;
  /** Priority of an item, by its first row. Higher comes first; of equals, what has waited longest. */
  readonly priority: (row: StoredRow) => number;
  /** Train steps that may use an experience. */
  readonly maxUses: number;
  /** Time between two uses. */
  readonly cooldownMs: number;
  /** Items that may wait; beyond, those of the lowest priority are dropped. */
  readonly capacity: number;
  /** Every batch has an experience that was never trained on, so a trainer waits for the explorer. */
  readonly needsNew: boolean;
  /** It ends when every experience was trained on once, and not only when none may be used again. */
  readonly endsWithoutNew: boolean;
  readonly clock: Pick<Clock, 'now' | 'after'>;
}

export interface PriorityReplayOptions extends Pick<
  Reuse,
  'capacity' | 'needsNew' | 'endsWithoutNew' | 'clock'
> {
  readonly priorityFn: PriorityFn;
  readonly priorityFnArgs?: PriorityArgs;
  /** Time before an experience may be used again. @default each is used once */
  readonly reuseCooldownMs?: number;
  /** Root seed of the run. */
  readonly seed: number;
}

type PriorityFn = 'linear_decay' | 'decay_limit_randomization';

interface PriorityArgs {
  /** Amount by which a use lowers the priority. @default 2 */
  readonly decay?: number;
  /** decay_limit_randomization: uses of an experience; 0 = any number. @default 3 */
  readonly useCountLimit?: number;
  /** decay_limit_randomization: standard deviation of the noise. @default 0 */
  readonly sigma?: number;
}

/**
 * The replay buffer of Trinity-RFT. An item is what an explore step has left of equal use; its priority
 * is policy version - decay * uses, for `decay_limit_randomization` + sigma * N(0, 1), drawn from the
 * seed for each item and use.
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
  /** Passes over all experiences. */
  readonly totalEpochs: number;
  /** Root seed of the run. */
  readonly seed: number;
  readonly clock: Reuse['clock'];
}

/** Rows in stored order in the first pass; in each further one the tasks come in an order of its own. */
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
