/** `metrics.jsonl`, read once and then only what was appended to it. */
import { open, stat } from 'node:fs/promises';
import { addLine, createRoleTable, type RoleTable } from './columns.js';

export interface MetricFile {
  /** Reads what came since. A file that became shorter is read anew: a resumed run cuts it. */
  catchUp(): Promise<void>;
  /** By role. */
  readonly roles: ReadonlyMap<string, RoleTable>;
}

const blockSize = 1 << 20;
const newline = 0x0a;

export function createMetricFile(file: string): MetricFile {
  const roles = new Map<string, RoleTable>();
  let [offset, inode] = [0, 0];
  let reading: Promise<void> | undefined;

  const read = async (): Promise<void> => {
    const found = await stat(file).catch(() => undefined);
    if (found === undefined) return;
    if (found.size < offset || found.ino !== inode) {
      roles.clear();
      offset = 0;
      inode = found.ino;
    }
    if (found.size > offset) offset = await readLines(file, offset, (line) => take(roles, line));
  };
  return {
    roles,
    catchUp: () => (reading ??= read().finally(() => (reading = undefined))),
  };
}

interface Line {
  readonly role: string;
  readonly step: number;
  readonly metrics: Readonly<Record<string, number | null>>;
  readonly timing: Readonly<Record<string, number | null>>;
}

/** A line that is no record is left out: the page shows the rest. */
function take(roles: Map<string, RoleTable>, text: string): void {
  let line: Partial<Line>;
  try {
    line = JSON.parse(text) as Partial<Line>;
  } catch {
    return;
  }
  const { role, step, metrics, timing } = line;
  if (typeof role !== 'string' || typeof step !== 'number') return;
  let table = roles.get(role);
  if (!table) roles.set(role, (table = createRoleTable()));
  addLine(table, step, { ...metrics, ...timing });
}

/** Whole lines from an offset on; returns where the first incomplete one begins. */
async function readLines(
  file: string,
  from: number,
  onLine: (line: string) => void,
): Promise<number> {
  const handle = await open(file, 'r');
  try {
    let offset = from;
    let rest = Buffer.alloc(0);
    for (;;) {
      const { bytesRead, buffer } = await handle.read(
        Buffer.allocUnsafe(blockSize),
        0,
        blockSize,
        offset + rest.length,
      );
      if (bytesRead === 0) return offset;
      const bytes = Buffer.concat([rest, buffer.subarray(0, bytesRead)]);
      const end = bytes.lastIndexOf(newline) + 1;
      const lines = bytes.toString('utf8', 0, end).split('\n');
      lines.pop();
      lines.forEach(onLine);
      offset += end;
      rest = bytes.subarray(end);
    }
  } finally {
    await handle.close();
  }
}
