/** Rules of the trainer: which experiences it may take, and when it publishes its weights. */
import type { DrivenRules } from './explore.js';
import type { Weights } from './settings.js';

/** Facts known to the trainer between two train steps. */
export interface TrainFacts {
  /** Train steps done. */
  readonly trainStep: number;
  /** The newest. */
  readonly published: Weights;
  /** See {@link settledUpTo}. */
  readonly settledUpTo: number;
  /** The last explore step that has begun; 0: none. */
  readonly plannedUpTo: number;
  /**
   * An explorer waits for weights newer than these. In the style `explorer_driven`, the least of all
   * that do. @default none
   */
  readonly asksForNewerThan?: number;
}

export interface ProgressFacts {
  /** Every explore step up to this one has all its results. */
  readonly completeUpTo: number;
  /** Every experience of the explore steps up to this one has been trained on or discarded. */
  readonly usedUpTo: number;
  /** The trainer waits, and what is left does not make a train step. */
  readonly starved: boolean;
}

/**
 * The last explore step that the trainer can do nothing more for: used up, or left over for a batch
 * that needs later explore steps as well.
 */
export const settledUpTo = ({ completeUpTo, usedUpTo, starved }: ProgressFacts): number =>
  starved ? completeUpTo : usedUpTo;

/**
 * Weights to publish now; undefined: none. It may be a version that is published already,
 * which has used up more: nothing that was explored since made a train step.
 */
export function publication(rules: DrivenRules, facts: TrainFacts): Weights | undefined {
  const { trainStep: version, settledUpTo: exploredUpTo } = facts;
  const isDue = isPublicationDue(rules, facts) || endsWait(rules, facts);
  return isDue ? { version, exploredUpTo } : undefined;
}

function isPublicationDue(
  { syncStyle, trainerSyncInterval: interval }: DrivenRules,
  { trainStep, published, asksForNewerThan = Infinity }: TrainFacts,
): boolean {
  if (trainStep <= published.version) return false;
  return syncStyle === 'explorer_driven'
    ? trainStep > asksForNewerThan
    : Math.floor(trainStep / interval) > Math.floor(published.version / interval);
}

/** The bound holds the next explore step back, and these weights would let it begin. */
function endsWait({ maxStaleness = Infinity }: DrivenRules, facts: TrainFacts): boolean {
  const needed = facts.plannedUpTo - maxStaleness;
  return facts.published.exploredUpTo < needed && facts.settledUpTo >= needed;
}
