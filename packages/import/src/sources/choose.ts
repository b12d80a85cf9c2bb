/** Detects the source of a file from its first records. */
import type { FileRecord } from '../files/read-records.js';
import { sourceNamed, sourceNames, type SourceName } from './table.js';

/** Maximum number of records that are read to detect the source. */
const mostTried = 100;

export interface Chosen {
  /** Name of the recognised source; undefined if no source was recognised. */
  readonly name?: SourceName;
  /** All records, including those that detection has read. */
  readonly records: AsyncIterable<FileRecord>;
}

/** Detects the source by the first record that any source recognizes. */
export async function chooseSource(records: AsyncIterable<FileRecord>): Promise<Chosen> {
  const iterator = records[Symbol.asyncIterator]();
  const seen: FileRecord[] = [];
  while (seen.length < mostTried) {
    const next = await iterator.next();
    if (next.done) break;
    seen.push(next.value);
    const { record } = next.value;
    const name = record && sourceNames.find((each) => sourceNamed(each).detect(record));
    if (name !== undefined) return { name, records: replayed(seen, iterator) };
  }
  return { records: replayed(seen, iterator) };
}

async function* replayed(
  seen: readonly FileRecord[],
  iterator: AsyncIterator<FileRecord>,
): AsyncGenerator<FileRecord> {
  try {
    yield* seen;
    yield* { [Symbol.asyncIterator]: () => iterator };
  } finally {
    // Closes the file if the reader stops among the first records.
    await iterator.return?.();
  }
}

/** Returns one line per source, for an error message. */
export const describeSources = (): readonly string[] =>
  sourceNames.map((name) => `  ${name}: ${sourceNamed(name).looksFor}`);
