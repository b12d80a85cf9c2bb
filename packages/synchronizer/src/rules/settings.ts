/**
 * Settings that determine when weights are published and adopted. Field names are the camelCase
 * forms of those in the configuration.
 */

/**
 * Style of the synchronization between trainer and explorer.
 *
 * - `fixed`: the explorer waits until the trainer has consumed all earlier experiences, and then
 *   takes the trainer's current weights. Until then, the trainer receives no later experiences.
 * - `explorer_driven`: the explorer asks for weights, and the trainer publishes them between two
 *   train steps.
 * - `trainer_driven`: the trainer publishes every few train steps, and the explorer takes the
 *   newest weights between two explore steps.
 * - `fully_async`: like `trainer_driven`, but the explorer takes new weights at once, even in the
 *   middle of rollouts.
 */
export type SyncStyle = 'fixed' | 'explorer_driven' | 'trainer_driven' | 'fully_async';

export interface SyncRules {
  readonly syncStyle: SyncStyle;
  /**
   * Number of explore steps between two synchronization points, at least 1. Not used by
   * `fully_async`.
   */
  readonly explorerSyncInterval: number;
  /**
   * Number of train steps between two publications, at least 1. Used only by `trainer_driven` and
   * `fully_async`.
   */
  readonly trainerSyncInterval: number;
  /** Number of explore steps before the first interval. Not used by `fully_async`. */
  readonly syncOffset: number;
  /**
   * Staleness bound, in explore steps. Explore step s may be sampled only with weights for which
   * all explore steps up to s - 1 - maxStaleness were consumed.
   * @default undefined: no bound except that of the style
   */
  readonly maxStaleness?: number;
}

/**
 * Returns the lowest `consumedUpTo` that weights must have to sample explore step `step`, or
 * -Infinity if there is no staleness bound.
 */
export const neededFor = ({ maxStaleness = Infinity }: SyncRules, step: number): number =>
  step - 1 - maxStaleness;

/** Weights that the trainer has published. */
export interface Weights {
  /**
   * Number of the train step that computed the weights; 0 for the initial model of the training
   * run.
   */
  readonly version: number;
  /**
   * Last explore step whose experiences had been consumed (trained on or discarded) when the
   * weights were computed. A remainder of experiences that is too small for a train step counts
   * as consumed.
   */
  readonly consumedUpTo: number;
}

/**
 * Returns the explore step that precedes the last synchronization point before `step`, or 0 if
 * there is no such point.
 */
export function boundaryBefore(
  { syncOffset, explorerSyncInterval }: SyncRules,
  step: number,
): number {
  const meetings = Math.floor((step - 1 - syncOffset) / explorerSyncInterval);
  return meetings < 1 ? 0 : syncOffset + meetings * explorerSyncInterval;
}

/** Returns true if explore step `step` is followed by a synchronization point. */
export const isBoundary = (rules: SyncRules, step: number): boolean =>
  boundaryBefore(rules, step + 1) === step && step > 0;
