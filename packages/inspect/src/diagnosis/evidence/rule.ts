/** Interface of a rule, and its findings. */
import type { RunRecord } from './record.js';
import type { Measured } from './series.js';

export interface Rule {
  /** Lower case with hyphens; stays the same from version to version. */
  readonly name: string;
  /** What is wrong, in a few words. */
  readonly title: string;
  /** When the rule holds, with its thresholds. */
  readonly when: string;
  /** Advice on what to change. */
  readonly advice: string;
  /** Undefined where the rule does not hold, or there is too little to say. */
  readonly look: (run: RunRecord) => Evidence | undefined;
  /** Rules that only describe what follows from this one: not reported beside it. */
  readonly explains?: readonly string[];
  /** Reported only where no other rule holds. @default false */
  readonly isLastResort?: boolean;
}

export interface Evidence {
  /** With numbers and steps. */
  readonly text: string;
  readonly numbers: readonly Measured[];
  /** Where to look at answers. */
  readonly rollouts?: RolloutFilter;
}

/** Filters of the list of rollouts (`GET /api/runs/{run}/rollouts`), and some rows. */
export interface RolloutFilter {
  /** Rows of the store, as examples. */
  readonly ids?: readonly number[];
  readonly batch?: string;
  readonly minReward?: number;
  readonly maxReward?: number;
  readonly sort?: 'reward' | 'responseTokens' | 'promptTokens' | 'staleness' | 'id';
  readonly descending?: boolean;
}

/** A rule that holds for a run. */
export interface Finding extends Omit<Rule, 'look' | 'explains' | 'isLastResort'>, Evidence {}
