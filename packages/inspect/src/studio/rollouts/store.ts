/** Data sources for the rollouts of a run, and their advantages. */
import type { ExperienceReader, ExperienceUse } from '@trinity-rft/buffer';
import type { Tokenizer } from '@trinity-rft/chat';
import { type Experience, responseLength } from '@trinity-rft/core';
import type { Failures } from './failures.js';
import type { RewardParts } from './reward-parts.js';
import type { RowIndex } from './row-index.js';
import type { ToolCallReader } from './tool-calls.js';

export interface RolloutStore {
  readonly reader: ExperienceReader;
  readonly index: RowIndex;
  readonly failures: Failures;
  /** Returns the tokenizer, which is loaded once; undefined while there is none. */
  tokenizer(): Promise<Tokenizer | undefined>;
  toolCalls(): Promise<ToolCallReader>;
  readonly rewardParts: RewardParts;
}

export interface UsedAdvantages {
  readonly of?: 'trainer' | 'explorer';
  /** Advantages, one per response token; NaN for tokens that were not trained on. */
  readonly values?: Float32Array;
}

/**
 * Advantages of the last train step that computed advantages, otherwise the advantages stored with
 * the experience.
 */
export function advantagesOf(
  experience: Experience,
  uses: readonly ExperienceUse[],
): UsedAdvantages {
  const use = uses.findLast(({ advantage }) => advantage !== undefined);
  if (use?.tokenAdvantages?.length === responseLength(experience))
    return { of: 'trainer', values: use.tokenAdvantages };
  if (use?.advantage !== undefined) {
    const { advantage } = use;
    const values = Float32Array.from(experience.actionMask, (bit) =>
      bit ? advantage : Number.NaN,
    );
    return { of: 'trainer', values };
  }
  return experience.advantages ? { of: 'explorer', values: experience.advantages } : {};
}

/** Mean advantage of the trained tokens. */
export function meanAdvantage(
  { actionMask }: Experience,
  { values }: UsedAdvantages,
): number | undefined {
  let [sum, count] = [0, 0];
  for (const [i, value] of (values ?? []).entries()) {
    if (actionMask[i] !== 1 || Number.isNaN(value)) continue;
    sum += value;
    count++;
  }
  return count === 0 ? undefined : sum / count;
}
