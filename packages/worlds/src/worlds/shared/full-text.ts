/** Full-text search over documents with SQLite's FTS5. */
import { openSqlite } from '@trinity-rft/core/store';
import { once } from './once.js';

export interface Document {
  readonly id: string;
  readonly text: string;
}

export interface FullText {
  /**
   * Finds documents that contain all words, or any of them. Only the first {@link mostTerms}
   * different words count. Returns at most `most` ids, best match first.
   */
  search(words: readonly string[], mode: 'all' | 'any', most: number): readonly string[];
  close(): void;
}

/**
 * Maximum number of words in a search, because the search time grows with the square of their
 * number.
 */
export const mostTerms = 100;

/** Indexes documents. Words are compared by their stems. */
export function fullText(documents: readonly Document[]): FullText {
  const database = openSqlite(':memory:');
  database.exec("CREATE VIRTUAL TABLE docs USING fts5(id UNINDEXED, text, tokenize = 'porter')");
  const insert = database.prepare('INSERT INTO docs VALUES (?, ?)');
  database.exec('BEGIN');
  for (const { id, text } of documents) insert.run(id, text);
  database.exec('COMMIT');
  const select = database.prepare(
    'SELECT id FROM docs WHERE docs MATCH ? ORDER BY rank, rowid LIMIT ?',
  );
  return {
    search: (words, mode, most) => {
      const found = words.flatMap((word) => word.match(/[\p{L}\p{N}]+/gu) ?? []);
      const different = new Map(found.map((term) => [term.toLowerCase(), term])).values();
      const terms = [...different].slice(0, mostTerms);
      if (terms.length === 0) return [];
      const query = terms.map((term) => `"${term}"`).join(mode === 'all' ? ' AND ' : ' OR ');
      return select.all(query, most).map(({ id }) => String(id));
    },
    close: once(() => database.close()),
  };
}
