/** Rules that compare a recent mean, or a share of counts, with a threshold. */
import { percent, stepsOf } from '../evidence/format.js';
import type { Role } from '../evidence/record.js';
import type { RolloutFilter, Rule } from '../evidence/rule.js';
import { isSolved, recently, recentShare } from '../evidence/series.js';

interface ThresholdRule extends Pick<Rule, 'name' | 'title' | 'when' | 'advice' | 'explains'> {
  /** Role that writes the metrics. @default "explorer" */
  readonly role?: Role;
  readonly counted: readonly string[];
  /**
   * Metrics whose sum over recent steps is the denominator of the share.
   * @default undefined: the recent mean of the first `counted` metric is the share
   */
  readonly outOf?: readonly string[];
  readonly atLeast: number;
  /**
   * Returns the part of the sentence after the share.
   * @param steps phrase such as `explore steps 20 to 40`
   */
  readonly says: (steps: string) => string;
  /** Filter for example rollouts. @default no examples */
  readonly rollouts?: RolloutFilter;
  /** True to skip runs that have learned almost everything. @default false */
  readonly unlessSolved?: boolean;
}

export function shareRule(definition: ThresholdRule): Rule {
  const {
    role = 'explorer',
    counted,
    outOf,
    atLeast,
    says,
    rollouts,
    unlessSolved = false,
    ...rule
  } = definition;
  return {
    ...rule,
    look: (run) => {
      const seen = outOf
        ? recentShare(run, role, counted, outOf)
        : recently(run, role, counted[0] ?? '');
      if (!seen || seen.value < atLeast || (unlessSolved && isSolved(run))) return undefined;
      const text = `${percent(seen.value)} ${says(stepsOf(seen))}.`;
      return rollouts ? { text, numbers: [seen], rollouts } : { text, numbers: [seen] };
    },
  };
}
