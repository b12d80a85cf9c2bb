/** Rows of the Berkeley Function Calling Leaderboard. */
import bfcl from './fixtures/bfcl.json' with { type: 'json' };
import type { Answer, BfclFunction } from './check-calls.js';

export interface ToolCallRow {
  readonly id: string;
  readonly question: string;
  readonly functions: readonly BfclFunction[];
  readonly answers: readonly Answer[];
}

let parsed: readonly ToolCallRow[] | undefined;

/** Those of a level: 1 one function, 2 one of several, 3 several calls. */
export function rowsOfLevel(level: number): readonly ToolCallRow[] {
  parsed ??= bfcl.rows.map((line) => JSON.parse(line) as ToolCallRow);
  const prefix = ['simple_', 'multiple_', 'parallel_'][level - 1] ?? 'multiple_';
  return parsed.filter(({ id }) => id.startsWith(prefix));
}
