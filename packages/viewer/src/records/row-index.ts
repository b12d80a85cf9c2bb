/**
 * What a list shows of every experience in a store, kept up with a run that goes on adding to it.
 */
import type { ExperienceReader } from '@trinity-rft/buffer';
import { actionCount, responseLength, type Experience } from '@trinity-rft/core';
import { headOf, type ExperienceHead } from './head.js';

/** One line of the list. */
export interface RowSummary extends ExperienceHead {
  readonly step: number;
  readonly promptTokens: number;
  readonly responseTokens: number;
  readonly trainedTokens: number;
  readonly finishReason?: string;
  readonly fork?: string;
  /** The train step that used it up, and whether by refusing it as too old. */
  readonly trainStep?: number;
  readonly dropped?: boolean;
}

export interface RowIndex {
  /** In the order in which they were stored. Reads what came since the last call. */
  rows(): Promise<readonly RowSummary[]>;
}

const chunk = 256;

/** Rows are read once; two callers at a time share the reading. */
export function createRowIndex(reader: ExperienceReader): RowIndex {
  const rows: RowSummary[] = [];
  let reading: Promise<void> | undefined;
  let newestTrainStep = 0;

  const catchUp = async (): Promise<void> => {
    for (;;) {
      const more = reader.rowsAfter(rows.at(-1)?.id ?? 0, chunk);
      for (const { id, experience } of more) rows.push(summaryOf(id, experience));
      if (more.length < chunk) break;
      // A store of a long run takes seconds: let other requests in between.
      await new Promise((resolve) => setImmediate(resolve));
    }
    for (const { id, trainStep, dropped } of reader.usedSince(newestTrainStep)) {
      const place = indexOf(rows, id);
      const row = rows[place];
      if (row) rows[place] = { ...row, trainStep, dropped };
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

/** Ids rise without gaps as a rule; searched where they do not. */
function indexOf(rows: readonly RowSummary[], id: number): number {
  return rows[id - 1]?.id === id ? id - 1 : rows.findIndex((row) => row.id === id);
}

function summaryOf(id: number, experience: Experience): RowSummary {
  const { eid, promptLength, info } = experience;
  return {
    ...headOf(id, experience),
    step: eid.step,
    promptTokens: promptLength,
    responseTokens: responseLength(experience),
    trainedTokens: actionCount(experience),
    ...(typeof info['finishReason'] === 'string' && { finishReason: info['finishReason'] }),
    ...(typeof info['fork'] === 'string' && { fork: info['fork'] }),
  };
}
