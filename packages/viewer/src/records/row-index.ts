/** What the list shows of every experience in a store, updated while a run adds more. */
import type { ExperienceReader } from '@trinity-rft/buffer';
import { type Experience } from '@trinity-rft/core';
import { actionCount, responseLength } from '@trinity-rft/core/internal';
import { headOf, type ExperienceHead } from './head.js';

/** One line of the list. */
export interface RowSummary extends ExperienceHead {
  readonly step: number;
  readonly promptTokens: number;
  readonly responseTokens: number;
  readonly trainedTokens: number;
  readonly finishReason?: string;
  readonly fork?: string;
  /** The train step that consumed it. */
  readonly trainStep?: number;
  /** That step dropped it as too old. */
  readonly dropped?: boolean;
}

export interface RowIndex {
  /** In the order in which they were stored. Reads the rows added since the last call. */
  rows(): Promise<readonly RowSummary[]>;
}

const chunkSize = 256;

/** Every row is read once; concurrent callers share the reading. */
export function createRowIndex(reader: ExperienceReader): RowIndex {
  const rows: RowSummary[] = [];
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

/** Ids usually increase without gaps; searches where they do not. */
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
    finishReason: textOf(info['finishReason']),
    fork: textOf(info['fork']),
  };
}

const textOf = (value: unknown): string | undefined =>
  typeof value === 'string' ? value : undefined;
