/** Interface of a rule, and its findings. */
import type { RunRecord } from './record.js';
import type { Measured } from './series.js';

export interface Rule {
  /** Identifier in lower case with hyphens; does not change between versions. */
  readonly name: string;
  /** The problem in a few words. */
  readonly title: string;
  /** Condition of the rule, with its thresholds. */
  readonly when: string;
  /** Advice on what to change. */
  readonly advice: string;
  /**
   * Returns evidence that the rule applies. Returns undefined if the rule does not apply, or if
   * there is too little data.
   */
  readonly look: (run: RunRecord) => Evidence | undefined;
  /**
   * Names of rules that only describe consequences of this problem. If this rule applies, they are
   * not reported.
   */
  readonly explains?: readonly string[];
  /** True to report the rule only if no other rule applies. @default false */
  readonly isLastResort?: boolean;
}

export interface Evidence {
  /** Sentence that states the evidence, with its numbers and steps. */
  readonly text: string;
  readonly numbers: readonly Measured[];
  /** Filter for rollouts that show the problem. */
  readonly rollouts?: RolloutFilter;
}

/** Filter for the list of rollouts (`GET /api/runs/{run}/rollouts`), and example rows. */
export interface RolloutFilter {
  /** Ids of example rows in the store. */
  readonly ids?: readonly number[];
  readonly batch?: string;
  readonly minReward?: number;
  readonly maxReward?: number;
  readonly sort?: 'reward' | 'responseTokens' | 'promptTokens' | 'staleness' | 'id';
  readonly descending?: boolean;
}

/** A rule that applies to a run, with the evidence. */
export interface Finding extends Omit<Rule, 'look' | 'explains' | 'isLastResort'>, Evidence {}
