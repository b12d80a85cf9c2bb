/** Rules for the trainer: which experiences it may take, and when it publishes its weights. */
import type { DrivenRules } from './explore.js';
import { neededFor, type Weights } from './settings.js';

/** Facts that the trainer knows between two train steps. */
export interface TrainFacts {
  /** Number of train steps done. */
  readonly trainStep: number;
  /** The newest published weights. */
  readonly published: Weights;
  /** Result of {@link settledUpTo}. */
  readonly settledUpTo: number;
  /** The last explore step that has begun; 0 if none has. */
  readonly plannedUpTo: number;
  /**
   * Version that waiting explorers want newer weights than; in the style `explorer_driven`, the
   * lowest of all explorers.
   * @default no explorer waits
   */
  readonly asksForNewerThan?: number;
}

export interface ProgressFacts {
  /** The last explore step up to which all steps have all their results. */
  readonly completeUpTo: number;
  /** The last explore step up to which all experiences have been trained on or discarded. */
  readonly usedUpTo: number;
  /** True if the trainer waits, because the remaining experiences do not make a train step. */
  readonly starved: boolean;
}

/**
 * The last explore step with which the trainer can do nothing more: it is used up, or its remaining
 * experiences need those of later explore steps to make a batch.
 */
export const settledUpTo = ({ completeUpTo, usedUpTo, starved }: ProgressFacts): number =>
  starved ? completeUpTo : usedUpTo;

/**
 * Weights to publish now; undefined if there are none. This may be a version that is already
 * published, if it has used up more explore steps since, whose experiences did not make a train
 * step.
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

/** True if the bound prevents the next explore step, and these weights would let it begin. */
function endsWait(rules: DrivenRules, facts: TrainFacts): boolean {
  const needed = neededFor(rules, facts.plannedUpTo + 1);
  return facts.published.exploredUpTo < needed && facts.settledUpTo >= needed;
}
