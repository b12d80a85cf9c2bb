/** The source of a file, by its first records. */
import type { FileRecord } from '../files/read-records.js';
import { sourceNamed, sourceNames, type SourceName } from './table.js';

/** Records of a file in which no source is recognised, until the rest is not looked at. */
const mostTried = 100;

export interface Chosen {
  /** Undefined: none is recognised. */
  readonly name?: SourceName;
  /** All records, those that were looked at included. */
  readonly records: AsyncIterable<FileRecord>;
}

/** The source of the first record that any source recognises. */
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
  yield* seen;
  yield* { [Symbol.asyncIterator]: () => iterator };
}

/** One line for each source, for an error. */
export const describeSources = (): readonly string[] =>
  sourceNames.map((name) => `  ${name}: ${sourceNamed(name).looksFor}`);
