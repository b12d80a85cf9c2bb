/**
 * Checks all rows of a data set before training starts, so that all unusable rows are reported at
 * once.
 */
import { type RawTask, TaskError } from '@trinity-rft/core';

/** Maximum number of rows that the message describes. */
const maxListed = 3;

/**
 * Calls `read` with each row, and reports the errors of all rows together.
 * @param place name and path of the data set, used in the message
 * @throws TaskError if `read` throws a TaskError for any row; the message states the number of
 * these rows and the first few errors
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
  const more = bad.length > maxListed ? [`  ... and ${bad.length - maxListed} more`] : [];
  throw new TaskError(
    [
      `${place}: ${bad.length} of ${rows.length} rows cannot be learned from. Rows count from 0.`,
      ...bad.slice(0, maxListed).map(({ message }) => `  ${message}`),
      ...more,
    ].join('\n'),
    { code: 'SUPERVISED_ROWS', details: { bad: bad.length, rows: rows.length } },
  );
}
