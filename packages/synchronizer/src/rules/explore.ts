/** Decides whether an explore step may begin, with which weights, or what it waits for. */
import { boundaryBefore, type SyncRules, type SyncStyle, type Weights } from './settings.js';

/** The styles in which the trainer never waits for the explorer. */
type DrivenStyle = Exclude<SyncStyle, 'fixed'>;
export type DrivenRules = SyncRules & { readonly syncStyle: DrivenStyle };

/** Facts known to an explorer that is about to begin an explore step. */
export interface ExploreFacts {
  /** Weights that its sampler has. */
  readonly inUse: Weights;
  /** The newest. */
  readonly published: Weights;
  /** The meeting point at which the explorer took weights, or was told that there are none. */
  readonly metAt: number;
  /**
   * In the style `explorer_driven`: the trainer has been between two train steps since the explorer
   * asked, or has ended.
   */
  readonly answered: boolean;
}

export type ExploreTurn = Ready | { readonly kind: 'wait'; readonly what: string };

/** At once with the weights in use (`begin`), or once the explorer has taken these (`take`). */
interface Ready {
  readonly kind: 'begin' | 'take';
  readonly weights: Weights;
}

export function exploreTurn(rules: DrivenRules, step: number, facts: ExploreFacts): ExploreTurn {
  const turn = turns[rules.syncStyle](rules, step, facts);
  return turn.kind === 'wait' ? turn : withinBound(rules, step, facts, turn);
}

type Turn = (rules: DrivenRules, step: number, facts: ExploreFacts) => ExploreTurn;

/** A version in use may have been published again since, when it had used up more. */
function keep({ inUse, published }: ExploreFacts): Ready {
  return { kind: 'begin', weights: published.version === inUse.version ? published : inUse };
}

const takeIfNewer = (facts: ExploreFacts): Ready =>
  facts.published.version > facts.inUse.version
    ? { kind: 'take', weights: facts.published }
    : keep(facts);

const turns: Readonly<Record<DrivenStyle, Turn>> = {
  explorer_driven: (rules, step, facts) => {
    if (boundaryBefore(rules, step) <= facts.metAt) return keep(facts);
    const turn = takeIfNewer(facts);
    return facts.answered || turn.kind === 'take'
      ? turn
      : {
          kind: 'wait',
          what: `the trainer to finish its step and publish weights for explore step ${step}`,
        };
  },
  trainer_driven: (rules, step, facts) =>
    boundaryBefore(rules, step) > facts.metAt ? takeIfNewer(facts) : keep(facts),
  fully_async: (_rules, _step, facts) => takeIfNewer(facts),
};

/** Where the weights would be too old, newer ones are taken, wherever the meeting points are. */
function withinBound(
  rules: DrivenRules,
  step: number,
  facts: ExploreFacts,
  turn: Ready,
): ExploreTurn {
  const { maxStaleness: bound = Infinity } = rules;
  const needed = step - 1 - bound;
  const ready = [turn, takeIfNewer(facts)].find(({ weights }) => weights.exploredUpTo >= needed);
  return (
    ready ?? {
      kind: 'wait',
      what: `the trainer to publish weights that have used up explore step ${needed}: explore step ${step} may be ${bound} ahead at most (max_staleness)`,
    }
  );
}

/** The last explore step that may begin with these weights. */
export const exploreUpTo = ({ maxStaleness = Infinity }: DrivenRules, weights: Weights): number =>
  weights.exploredUpTo + 1 + maxStaleness;
