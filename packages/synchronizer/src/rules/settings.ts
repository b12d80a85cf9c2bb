/** When weights move: the settings of a run, by the names of a configuration. */

/**
 * - `fixed`: the explorer waits until the trainer has used up what was explored, and takes the weights
 *   of that moment; the trainer takes nothing explored later until then.
 * - `explorer_driven`: the explorer asks, and the trainer answers between two train steps.
 * - `trainer_driven`: the trainer publishes at train steps of its own, and the explorer takes what is
 *   newest between two explore steps.
 * - `fully_async`: as `trainer_driven`, but the explorer takes new weights at once, in the middle of
 *   rollouts.
 */
export type SyncStyle = 'fixed' | 'explorer_driven' | 'trainer_driven' | 'fully_async';

export interface SyncRules {
  readonly syncStyle: SyncStyle;
  /** Explore steps between two meeting points, at least 1. Not used by `fully_async`. */
  readonly explorerSyncInterval: number;
  /** Train steps between two publications, at least 1. `trainer_driven` and `fully_async` only. */
  readonly trainerSyncInterval: number;
  /** Explore steps before the first interval begins. Not used by `fully_async`. */
  readonly syncOffset: number;
  /**
   * Explore step s is sampled by weights that have used up every explore step up to
   * s - 1 - maxStaleness, at least. @default what follows from the style
   */
  readonly maxStaleness?: number;
}

/** Weights that the trainer has published. */
export interface Weights {
  /** The train step that made them; 0: the model that the run starts from. */
  readonly version: number;
  /** They have used up every explore step up to this one, as far as train steps could be made of it. */
  readonly exploredUpTo: number;
}

/** The last meeting point before explore step `step`, as the explore step that it follows; 0: none. */
export function boundaryBefore(
  { syncOffset, explorerSyncInterval }: SyncRules,
  step: number,
): number {
  const meetings = Math.floor((step - 1 - syncOffset) / explorerSyncInterval);
  return meetings < 1 ? 0 : syncOffset + meetings * explorerSyncInterval;
}

/** True where explore step `step` ends at a meeting point. */
export const isBoundary = (rules: SyncRules, step: number): boolean =>
  boundaryBefore(rules, step + 1) === step && step > 0;
