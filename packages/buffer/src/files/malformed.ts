/** Reports all malformed rows of a task file in one error. */
import { TaskError } from '@trinity-rft/core';

/** One row that cannot be used. */
export interface BadRow {
  /**
   * Position of the row, as text that error messages append to the path of the file: `:12:5` (line
   * and column, which editors recognise), `, item 3`, or `, row 3, column "x"`.
   */
  readonly place: string;
  readonly problem: string;
}

/** Maximum number of rows that the message describes. */
const maxListed = 3;

/**
 * Reports all malformed rows of a file in one error.
 * @param fix text of the last line of the message, which says what to do
 * @throws TaskError if there are malformed rows; the message names the file, counts the rows and
 * describes the first few
 */
export function assertNoBadRows(
  path: string,
  bad: readonly BadRow[],
  rowCount: number,
  fix = 'Expected one JSON object per line, or one JSON array of objects. Fix or remove the rows.',
): void {
  if (bad.length === 0) return;
  const first = bad
    .slice(0, maxListed)
    .map(({ place, problem }) => `  ${path}${place}: ${problem}`);
  const more = bad.length > maxListed ? [`  ... and ${bad.length - maxListed} more`] : [];
  const rows = bad.length === 1 ? '1 row is' : `${bad.length} rows are`;
  throw new TaskError(
    [`${path}: ${rows} malformed (${rowCount} are good).`, ...first, ...more, fix].join('\n'),
    { code: 'TASKSET_MALFORMED', details: { path, bad: bad.length, good: rowCount } },
  );
}

/** Describes why a value is not an object. Returns undefined for an object. */
export function notAnObject(value: unknown): string | undefined {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return undefined;
  const kind = value === null ? 'null' : Array.isArray(value) ? 'an array' : `a ${typeof value}`;
  return `expected a JSON object, found ${kind}`;
}
