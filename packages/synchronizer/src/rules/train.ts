/** Rules for the trainer: which explore steps are consumed, and when to publish weights. */
import type { DrivenRules } from './explore.js';
import { neededFor, type Weights } from './settings.js';

/** State of the training run between two train steps. */
export interface TrainFacts {
  /** Number of train steps done. */
  readonly trainStep: number;
  /** The newest published weights. */
  readonly published: Weights;
  /** Last explore step whose experiences are consumed, as returned by {@link consumedUpTo}. */
  readonly consumedUpTo: number;
  /** The last explore step that has begun; 0 if none has. */
  readonly begunUpTo: number;
  /**
   * Version of the weights that a waiting explorer uses; it waits for a newer version. If several
   * explorers wait, the lowest of their versions.
   * @default undefined: no explorer waits
   */
  readonly asksForNewerThan?: number;
}

export interface ProgressFacts {
  /** The last explore step whose experiences are stored. */
  readonly storedUpTo: number;
  /**
   * The oldest explore step with unconsumed experiences.
   * @default undefined: all experiences are consumed
   */
  readonly oldestUnusedStep?: number;
  /** True if the trainer waits because the remaining experiences are too few for a train step. */
  readonly starved?: boolean;
}

/**
 * Returns the last explore step whose experiences are consumed. If the trainer is starved, the
 * remaining experiences count as consumed, because they are too few for a batch.
 */
export const consumedUpTo = ({
  storedUpTo,
  oldestUnusedStep = Infinity,
  starved = false,
}: ProgressFacts): number => (starved ? storedUpTo : Math.min(storedUpTo, oldestUnusedStep - 1));

/**
 * Returns the weights to publish now, or undefined if no publication is due. The current version is
 * published again if explore steps have been consumed since its last publication, and the staleness
 * bound therefore permits the next explore step.
 */
export function publication(rules: DrivenRules, facts: TrainFacts): Weights | undefined {
  const { trainStep: version, consumedUpTo } = facts;
  const isDue = isPublicationDue(rules, facts) || endsWait(rules, facts);
  return isDue ? { version, consumedUpTo } : undefined;
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

/**
 * Returns true if the staleness bound prevents the next explore step, and publishing the trainer's
 * current weights would permit it.
 */
function endsWait(rules: DrivenRules, facts: TrainFacts): boolean {
  const needed = neededFor(rules, facts.begunUpTo + 1);
  return facts.published.consumedUpTo < needed && facts.consumedUpTo >= needed;
}
