/** Cursor of a service in `metrics.jsonl`, in a file beside it. */
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import type { MetricRole } from '@trinity-rft/core';
import { replaceFileSync } from '@trinity-rft/core/support';

export interface Cursor {
  /** ID of the run at the service. */
  readonly id: string;
  readonly url: string;
  /** Records that were sent. */
  readonly sent: number;
  /**
   * The same by role, as places in the file. A resumed run makes its last steps again, the same
   * ones: their records are known to the service already.
   */
  readonly roles: Readonly<Partial<Record<MetricRole, number>>>;
}

/** Undefined if there is none, or it cannot be read: the run then begins anew at the service. */
export function readCursor(file: string): Cursor | undefined {
  if (!existsSync(file)) return undefined;
  try {
    const { id, url, sent, roles } = JSON.parse(readFileSync(file, 'utf8')) as Partial<Cursor>;
    if (typeof id !== 'string' || typeof sent !== 'number' || roles === undefined) return undefined;
    return { id, url: url ?? '', sent, roles };
  } catch {
    return undefined;
  }
}

export function writeCursor(file: string, cursor: Cursor): void {
  mkdirSync(path.dirname(file), { recursive: true });
  replaceFileSync(file, JSON.stringify(cursor));
}
