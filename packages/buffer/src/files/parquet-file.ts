import { type RawTask, TaskError } from '@trinity-rft/core';
import { plainValue } from './plain-value.js';

/**
 * Reads the rows of a Parquet file with any compression, in file order, as plain JSON.
 * @throws TaskError when the file is not Parquet or is damaged
 */
export async function readParquetFile(path: string): Promise<readonly RawTask[]> {
  // Loaded on first use, because most training runs read JSON.
  const [{ asyncBufferFromFile, parquetReadObjects }, { compressors }] = await Promise.all([
    import('hyparquet'),
    import('hyparquet-compressors'),
  ]);
  try {
    // `utf8: false` leaves columns that are not declared as text as bytes, instead of decoding
    // them.
    const rows = await parquetReadObjects({
      file: await asyncBufferFromFile(path),
      compressors,
      utf8: false,
    });
    return rows.map((row) => plainValue(row) as RawTask);
  } catch (cause) {
    throw new TaskError(
      `${path} cannot be read as Parquet: ${(cause as Error).message}. Expected a complete Parquet file; fetch or write it again.`,
      { code: 'TASKSET_MALFORMED', details: { path }, cause },
    );
  }
}
