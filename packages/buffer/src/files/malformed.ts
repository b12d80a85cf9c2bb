/** Collects what is wrong with the rows of a task file, and words it as one error. */
import { TaskError } from '@trinity-rft/core';

/** One row that cannot be used. */
export interface BadRow {
  /** Behind the path: `:12:5`, as editors read it, or `, item 3`. */
  readonly place: string;
  readonly problem: string;
}

const listed = 3;

/**
 * @throws TaskError that names the file, counts the bad rows and lists the first few; nothing when
 * there are none
 */
export function refuseBadRows(path: string, bad: readonly BadRow[], rowCount: number): void {
  if (bad.length === 0) return;
  const first = bad.slice(0, listed).map(({ place, problem }) => `  ${path}${place}: ${problem}`);
  const more = bad.length > listed ? [`  ... and ${bad.length - listed} more`] : [];
  const rows = bad.length === 1 ? '1 row is' : `${bad.length} rows are`;
  throw new TaskError(
    [
      `${path}: ${rows} malformed (${rowCount} are good).`,
      ...first,
      ...more,
      'Expected one JSON object per line, or one JSON array of objects. Mend or remove the rows.',
    ].join('\n'),
    { code: 'TASKSET_MALFORMED', details: { path, bad: bad.length, good: rowCount } },
  );
}

/** What a value that should have been an object is, in words; `undefined` for an object. */
export function notAnObject(value: unknown): string | undefined {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return undefined;
  const kind = value === null ? 'null' : Array.isArray(value) ? 'an array' : `a ${typeof value}`;
  return `expected a JSON object, found ${kind}`;
}
