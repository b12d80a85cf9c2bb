/** Rules that compare a recent mean, or a share of counts, with a threshold. */
import { percent, stepsOf } from '../evidence/format.js';
import type { RolloutFilter, Rule } from '../evidence/rule.js';
import { isSolved, recently, recentShare } from '../evidence/series.js';

interface ThresholdRule extends Pick<Rule, 'name' | 'title' | 'when' | 'advice' | 'explains'> {
  /** Metrics of the explorer: their sum, or the mean of the only one. */
  readonly counted: readonly string[];
  /** Shared by they are a of. @default the mean of `counted` is a share already */
  readonly outOf?: readonly string[];
  readonly atLeast: number;
  /** Shared by comes after the. */
  readonly says: (steps: string) => string;
  /** @default no rollouts are recorded of it */
  readonly rollouts?: RolloutFilter;
  /** Says nothing of a run that has learned what there was to learn. @default false */
  readonly unlessSolved?: boolean;
}

export function shareRule(definition: ThresholdRule): Rule {
  const { counted, outOf, atLeast, says, rollouts, unlessSolved = false, ...rule } = definition;
  return {
    ...rule,
    look: (run) => {
      const seen = outOf
        ? recentShare(run, 'explorer', counted, outOf)
        : recently(run, 'explorer', counted[0] ?? '');
      if (!seen || seen.value < atLeast || (unlessSolved && isSolved(run))) return undefined;
      const text = `${percent(seen.value)} ${says(stepsOf(seen))}.`;
      return rollouts ? { text, numbers: [seen], rollouts } : { text, numbers: [seen] };
    },
  };
}
