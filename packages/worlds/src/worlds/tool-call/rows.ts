/** Rows of the Berkeley Function Calling Leaderboard. */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import type { Answer, BfclFunction } from './check-calls.js';

export interface ToolCallRow {
  readonly id: string;
  readonly question: string;
  readonly functions: readonly BfclFunction[];
  readonly answers: readonly Answer[];
}

let parsed: readonly ToolCallRow[] | undefined;

/**
 * Returns the rows of a level: 1 for one function, 2 for one of several functions, 3 for several
 * calls.
 */
export function rowsOfLevel(level: number): readonly ToolCallRow[] {
  parsed ??= readRows();
  const prefix = ['simple_', 'multiple_', 'parallel_'][level - 1] ?? 'multiple_';
  return parsed.filter(({ id }) => id.startsWith(prefix));
}

/**
 * Reads the half megabyte of rows. Not called on import, because every training run loads this
 * module and few need the rows.
 */
function readRows(): readonly ToolCallRow[] {
  const manifest = createRequire(import.meta.url).resolve('@trinity-rft/worlds/package.json');
  const file = path.join(path.dirname(manifest), 'data', 'bfcl.json');
  const { rows } = JSON.parse(readFileSync(file, 'utf8')) as { readonly rows: readonly string[] };
  return rows.map((line) => JSON.parse(line) as ToolCallRow);
}
