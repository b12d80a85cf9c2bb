/**
 * Decides whether an explore step may begin, with which weights it begins, and otherwise what it
 * must wait for.
 */
import {
  boundaryBefore,
  neededFor,
  type SyncRules,
  type SyncStyle,
  type Weights,
} from './settings.js';

/** The styles in which the trainer never waits at a synchronization point. */
type DrivenStyle = Exclude<SyncStyle, 'fixed'>;
export type DrivenRules = SyncRules & { readonly syncStyle: DrivenStyle };

/** Facts from which {@link exploreTurn} decides about an explore step. */
export interface ExploreFacts {
  /** Weights that the explorer's sampler uses. */
  readonly inUse: Weights;
  /** The newest published weights. */
  readonly published: Weights;
  /** Last synchronization point that the explorer has passed, with or without new weights. */
  readonly lastSyncPoint: number;
  /**
   * True if the trainer has been between two train steps since the explorer asked for weights, or
   * has ended. Used only by `explorer_driven`.
   */
  readonly answered: boolean;
}

export type ExploreTurn = Ready | { readonly kind: 'wait'; readonly what: string };

/**
 * Decision that the explore step may begin: with the weights in use (`begin`), or after the
 * explorer has switched to `weights` (`take`).
 */
interface Ready {
  readonly kind: 'begin' | 'take';
  readonly weights: Weights;
}

export function exploreTurn(rules: DrivenRules, step: number, facts: ExploreFacts): ExploreTurn {
  const turn = turns[rules.syncStyle](rules, step, facts);
  return turn.kind === 'wait' ? turn : withinBound(rules, step, facts, turn);
}

type Turn = (rules: DrivenRules, step: number, facts: ExploreFacts) => ExploreTurn;

/**
 * Decides to keep the weights in use. If their version has been published again, returns the newer
 * entry, whose `consumedUpTo` may be higher.
 */
function keep({ inUse, published }: ExploreFacts): Ready {
  return { kind: 'begin', weights: published.version === inUse.version ? published : inUse };
}

const takeIfNewer = (facts: ExploreFacts): Ready =>
  facts.published.version > facts.inUse.version
    ? { kind: 'take', weights: facts.published }
    : keep(facts);

const turns: Readonly<Record<DrivenStyle, Turn>> = {
  explorer_driven: (rules, step, facts) => {
    if (boundaryBefore(rules, step) <= facts.lastSyncPoint) return keep(facts);
    const turn = takeIfNewer(facts);
    return facts.answered || turn.kind === 'take'
      ? turn
      : {
          kind: 'wait',
          what: `the trainer to finish its step and publish weights for explore step ${step}`,
        };
  },
  trainer_driven: (rules, step, facts) =>
    boundaryBefore(rules, step) > facts.lastSyncPoint ? takeIfNewer(facts) : keep(facts),
  fully_async: (_rules, _step, facts) => takeIfNewer(facts),
};

/**
 * Applies `max_staleness` to a decision. If its weights are too old, decides to take newer weights
 * or to wait for them, even between synchronization points.
 */
function withinBound(
  rules: DrivenRules,
  step: number,
  facts: ExploreFacts,
  turn: Ready,
): ExploreTurn {
  const needed = neededFor(rules, step);
  const ready = [turn, takeIfNewer(facts)].find(({ weights }) => weights.consumedUpTo >= needed);
  return (
    ready ?? {
      kind: 'wait',
      what: `the trainer to publish weights that have used up explore step ${needed}: explore step ${step} may be ${step - 1 - needed} ahead at most (max_staleness)`,
    }
  );
}
