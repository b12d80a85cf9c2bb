/** Rules that compare a recent mean, or a share of counts, with a threshold. */
import { percent, stepsOf } from '../evidence/format.js';
import type { RolloutFilter, Rule } from '../evidence/rule.js';
import { isSolved, recently, recentShare } from '../evidence/series.js';

interface ThresholdRule extends Pick<Rule, 'name' | 'title' | 'when' | 'advice' | 'explains'> {
  /** Metrics of the explorer: several are summed, a single one is averaged. */
  readonly counted: readonly string[];
  /** Metrics whose sum is the denominator. @default the mean of `counted` is already a share */
  readonly outOf?: readonly string[];
  readonly atLeast: number;
  /**
   * Makes the sentence of the finding from the text of the steps, before which the share stands.
   */
  readonly says: (steps: string) => string;
  /** Filter for examples. @default no rollouts show the problem */
  readonly rollouts?: RolloutFilter;
  /** True to skip runs that have learned almost everything. @default false */
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
