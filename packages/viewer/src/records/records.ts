/** The records of a store: rows, filtered and in pages, and single experiences. */
import { readExperiences, type ExperienceReader } from '@trinity-rft/buffer';
import { loadTokenizer, type Tokenizer } from '@trinity-rft/chat';
import { detailOf, searchText, type ExperienceDetail } from './detail.js';
import { passes, sorted, type RowQuery } from './query.js';
import { createRowIndex, type RowIndex, type RowSummary } from './row-index.js';

/** Where to find an experience store. */
export interface StorePlace {
  /** The SQLite file. */
  readonly database: string;
  /** The model folder with the tokenizer of the records; without it, tokens are shown as ids. */
  readonly modelFolder?: string;
}

export interface RowPage {
  readonly rows: readonly RowSummary[];
  /** Rows that pass the filter. */
  readonly matching: number;
  /** Rows in the store. */
  readonly total: number;
}

export interface Records {
  readonly database: string;
  readonly hasTokenizer: boolean;
  page(query: RowQuery): Promise<RowPage>;
  /** Undefined when there is no such row. */
  detail(id: number): ExperienceDetail | undefined;
  close(): void;
}

/**
 * @throws BufferError when the database cannot be read, CheckpointError when the tokenizer cannot
 */
export async function openRecords({ database, modelFolder }: StorePlace): Promise<Records> {
  const tokenizer = modelFolder === undefined ? undefined : await loadTokenizer(modelFolder);
  const reader = readExperiences(database);
  const index = createRowIndex(reader);
  return {
    database,
    hasTokenizer: tokenizer !== undefined,
    page: (query) => pageOf(query, index, reader, tokenizer),
    detail: (id) => {
      const row = reader.row(id);
      return row && detailOf(id, row.experience, tokenizer);
    },
    close: () => reader.close(),
  };
}

async function pageOf(
  query: RowQuery,
  index: RowIndex,
  reader: ExperienceReader,
  tokenizer: Tokenizer | undefined,
): Promise<RowPage> {
  const all = await index.rows();
  const total = all.length;
  const filtered = all.filter((row) => passes(row, query));
  const matching =
    query.text === undefined
      ? filtered
      : await withText(filtered, query.text.toLowerCase(), reader, tokenizer);
  const begin = query.page * query.size;
  return {
    rows: sorted(matching, query).slice(begin, begin + query.size),
    matching: matching.length,
    total,
  };
}

const rowsBetweenPauses = 128;

/** Reads texts from the database a few at a time, as they are not kept in memory. */
async function withText(
  rows: readonly RowSummary[],
  wanted: string,
  reader: ExperienceReader,
  tokenizer: Tokenizer | undefined,
): Promise<readonly RowSummary[]> {
  const found: RowSummary[] = [];
  for (const [i, row] of rows.entries()) {
    const stored = reader.row(row.id);
    if (stored && searchText(stored.experience, tokenizer).includes(wanted)) found.push(row);
    if (i % rowsBetweenPauses === 0) await new Promise((resolve) => setImmediate(resolve));
  }
  return found;
}
