/**
 * Remembers which records of `metrics.jsonl` a service has received, in a file next to
 * `metrics.jsonl`.
 */
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { replaceFileSync } from '@trinity-rft/core/support';
import type { SentRecords } from './sent-records.js';

export interface Cursor extends SentRecords {
  /** Id of the training run at the service, or under which it is to be started there. */
  readonly id: string;
  /** URL of the run's page; '' before the service has answered. */
  readonly url: string;
  /** Number of records that the service has received. */
  readonly sent: number;
}

/**
 * Reads the cursor. Returns undefined if the file is missing or cannot be read; all records are
 * then sent to the service again.
 */
export function readCursor(file: string): Cursor | undefined {
  if (!existsSync(file)) return undefined;
  try {
    const cursor = JSON.parse(readFileSync(file, 'utf8')) as Partial<Cursor>;
    const { id, url, sent, roles, digests } = cursor;
    if (typeof id !== 'string' || typeof sent !== 'number' || !roles || !digests) return undefined;
    return { id, url: url ?? '', sent, roles, digests };
  } catch {
    return undefined;
  }
}

export function writeCursor(file: string, cursor: Cursor): void {
  mkdirSync(path.dirname(file), { recursive: true });
  replaceFileSync(file, JSON.stringify(cursor));
}
