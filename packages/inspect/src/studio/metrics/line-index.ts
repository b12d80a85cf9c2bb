/**
 * Indexes the lines of `metrics.jsonl` by role: their byte offsets and steps. Most lines are not
 * parsed.
 */
import { tryJson } from '@trinity-rft/core/support';
import { createColumn, type Column } from './columns.js';

/** The lines of one role in order. */
export interface RoleLines {
  readonly role: string;
  readonly steps: Column;
  /** Byte offset of each line in the file. */
  readonly begins: Column;
}

export type LineIndex = Map<string, RoleLines>;

/** Matches lines as `trinity` writes them; other lines are parsed completely. */
const usual = /^\{"role":"(\w+)","step":(\d+),/;
const prefixLength = 80;

/**
 * Adds a line to the index. Skips lines that are not records, so that the page shows the other
 * lines.
 */
export function addToIndex(
  index: LineIndex,
  block: Buffer,
  [begin, end]: readonly [number, number],
  place: number,
): void {
  const prefix = block.toString('latin1', begin, Math.min(end, begin + prefixLength));
  const known = block[end - 1] === 0x7d ? usual.exec(prefix) : undefined;
  const [role, step] = known
    ? [known[1] ?? '', Number(known[2])]
    : parsed(block.toString('utf8', begin, end));
  if (typeof role !== 'string' || typeof step !== 'number') return;
  let lines = index.get(role);
  if (!lines) {
    lines = { role, steps: createColumn(), begins: createColumn() };
    index.set(role, lines);
  }
  lines.steps.push(step);
  lines.begins.push(place);
}

function parsed(text: string): readonly [unknown, unknown] {
  const line = tryJson(text) as { readonly role?: unknown; readonly step?: unknown } | null;
  return [line?.role, line?.step];
}
