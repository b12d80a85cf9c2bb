/** What the list shows of every experience in a store, updated while a run adds more. */
import type { ExperienceReader } from '@trinity-rft/buffer';
import { type Experience } from '@trinity-rft/core';
import { actionCount, responseLength } from '@trinity-rft/core/internal';
import type { RolloutRow } from '../interface/types.js';
import { headOf } from './head.js';

export interface RowIndex {
  /** In the order in which they were stored. Reads the rows added since the last call. */
  rows(): Promise<readonly RolloutRow[]>;
}

const chunkSize = 256;

/** Every row is read once; concurrent callers share the reading. */
export function createRowIndex(reader: ExperienceReader): RowIndex {
  const rows: RolloutRow[] = [];
  let reading: Promise<void> | undefined;
  let newestTrainStep = 0;

  const catchUp = async (): Promise<void> => {
    for (;;) {
      const more = reader.rowsAfter(rows.at(-1)?.id ?? 0, chunkSize);
      for (const { id, experience } of more) rows.push(summaryOf(id, experience));
      if (more.length < chunkSize) break;
      // Reading the store of a long run takes seconds: other requests run in between.
      await new Promise((resolve) => setImmediate(resolve));
    }
    for (const { id, trainStep, dropped } of reader.usedSince(newestTrainStep)) {
      const place = indexOf(rows, id);
      const row = rows[place];
      if (row) rows[place] = { ...row, ...usedIn(row, trainStep, dropped) };
      newestTrainStep = Math.max(newestTrainStep, trainStep);
    }
  };

  return {
    rows: async () => {
      reading ??= catchUp().finally(() => (reading = undefined));
      await reading;
      return rows;
    },
  };
}

/** Ids usually increase without gaps; searches where they do not. */
function indexOf(rows: readonly RolloutRow[], id: number): number {
  return rows[id - 1]?.id === id ? id - 1 : rows.findIndex((row) => row.id === id);
}

/** What the train step that used a row adds to it. */
export const usedIn = (
  { policyVersion }: Pick<RolloutRow, 'policyVersion'>,
  trainStep: number,
  dropped: boolean,
): Pick<RolloutRow, 'trainStep' | 'dropped' | 'staleness'> => ({
  trainStep,
  dropped,
  // The weights of version v are those after train step v.
  staleness: policyVersion < 0 ? undefined : Math.max(0, trainStep - 1 - policyVersion),
});

export function summaryOf(id: number, experience: Experience): RolloutRow {
  const { eid, promptLength, info } = experience;
  return {
    ...headOf(id, experience),
    step: eid.step,
    advantage: meanAdvantage(experience),
    promptTokens: promptLength,
    responseTokens: responseLength(experience),
    trainedTokens: actionCount(experience),
    finishReason: textOf(info['finishReason']),
    fork: textOf(info['fork']),
  };
}

function meanAdvantage({ advantages, actionMask }: Experience): number | undefined {
  if (!advantages) return undefined;
  let [sum, trained] = [0, 0];
  for (const [i, mask] of actionMask.entries()) {
    if (mask === 0) continue;
    sum += advantages[i] ?? 0;
    trained++;
  }
  return trained === 0 ? undefined : sum / trained;
}

const textOf = (value: unknown): string | undefined =>
  typeof value === 'string' ? value : undefined;
