/** The experiences of a store: rows, filtered and in pages, and single ones. */
import { readExperiences, type ExperienceReader } from '@trinity-rft/buffer';
import { loadTokenizer, type Tokenizer } from '@trinity-rft/chat';
import type { ListedRollout, RolloutDetail, RolloutPage, RolloutRow } from '../interface/types.js';
import { answerOf, detailOf, questionOf, searchText } from './detail.js';
import { isEverything, passes, sorted, type RowQuery } from './query.js';
import { createRowIndex, summaryOf, usedIn, type RowIndex } from './row-index.js';

/** Where to find an experience store. */
export interface StorePlace {
  /** The SQLite file. */
  readonly database: string;
  /** The model folder with the tokenizer of the records; without it, tokens are shown as ids. */
  readonly modelFolder?: string;
}

export interface Rollouts {
  /** Rows in the store. */
  count(): number;
  page(query: RowQuery): Promise<RolloutPage>;
  /** Undefined when there is no such row. */
  detail(id: number): RolloutDetail | undefined;
  close(): void;
}

interface Open {
  readonly reader: ExperienceReader;
  readonly index: RowIndex;
  readonly tokenizer: Tokenizer | undefined;
}

/**
 * @throws BufferError when the database cannot be read, CheckpointError when the tokenizer cannot
 */
export async function openRollouts({ database, modelFolder }: StorePlace): Promise<Rollouts> {
  const tokenizer = modelFolder === undefined ? undefined : await loadTokenizer(modelFolder);
  const reader = readExperiences(database);
  const open: Open = { reader, index: createRowIndex(reader), tokenizer };
  return {
    count: () => reader.count(),
    page: (query) => pageOf(query, open),
    detail: (id) => {
      const row = reader.row(id);
      return row && detailOf(id, row.experience, tokenizer);
    },
    close: () => reader.close(),
  };
}

async function pageOf(query: RowQuery, open: Open): Promise<RolloutPage> {
  const { reader, index } = open;
  const begin = query.page * query.size;
  if (isEverything(query)) {
    const total = reader.count();
    const rows = reader.rowsFrom(begin, query.size, query.descending);
    const listed = rows.map(({ id, experience }) => {
      const row = summaryOf(id, experience);
      const use = reader.lastUse(id);
      return listedRow(use ? { ...row, ...usedIn(row, use.trainStep, use.dropped) } : row, open);
    });
    return { rows: listed, matching: total, total };
  }
  const all = await index.rows();
  const filtered = all.filter((row) => passes(row, query));
  const matching = query.text === undefined ? filtered : await withText(filtered, query.text, open);
  const rows = sorted(matching, query)
    .slice(begin, begin + query.size)
    .map((row) => listedRow(row, open));
  return { rows, matching: matching.length, total: all.length };
}

/** With texts, which the index does not keep. */
function listedRow(row: RolloutRow, { reader, tokenizer }: Open): ListedRollout {
  const experience = reader.row(row.id)?.experience;
  if (!experience) return { ...row, question: '', answer: '' };
  return {
    ...row,
    question: questionOf(experience, tokenizer),
    answer: answerOf(experience, tokenizer),
  };
}

const rowsBetweenPauses = 128;

/** Reads texts from the database a few at a time, as they are not kept in memory. */
async function withText(
  rows: readonly RolloutRow[],
  text: string,
  { reader, tokenizer }: Open,
): Promise<readonly RolloutRow[]> {
  const wanted = text.toLowerCase();
  const found: RolloutRow[] = [];
  for (const [i, row] of rows.entries()) {
    const stored = reader.row(row.id);
    if (stored && searchText(stored.experience, tokenizer).includes(wanted)) found.push(row);
    if (i % rowsBetweenPauses === 0) await new Promise((resolve) => setImmediate(resolve));
  }
  return found;
}
