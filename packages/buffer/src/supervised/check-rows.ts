/** Looks at all rows of a data set before anything starts. */
import { TaskError, type RawTask } from '@trinity-rft/core';

const listed = 3;

/**
 * Calls `read` with each row. @param place what the rows are of: name and path
 * @throws TaskError with how many rows it refuses, and what it says of the first few
 */
export function checkRows(
  rows: readonly RawTask[],
  place: string,
  read: (rawTask: RawTask, row: number) => unknown,
): void {
  const bad: TaskError[] = [];
  rows.forEach((rawTask, row) => {
    try {
      read(rawTask, row);
    } catch (error) {
      if (!(error instanceof TaskError)) throw error;
      bad.push(error);
    }
  });
  if (bad.length === 0) return;
  const more = bad.length > listed ? [`  ... and ${bad.length - listed} more`] : [];
  throw new TaskError(
    [
      `${place}: ${bad.length} of ${rows.length} rows cannot be learned from. Rows count from 0.`,
      ...bad.slice(0, listed).map(({ message }) => `  ${message}`),
      ...more,
    ].join('\n'),
    { code: 'SUPERVISED_ROWS', details: { bad: bad.length, rows: rows.length }, cause: bad[0] },
  );
}
