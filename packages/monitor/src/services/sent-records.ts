/**
 * Remembers which records a service has received. A record is identified by its number among the
 * records of its role, and by a digest. A resumed training run repeats its last steps; of the
 * repeated records, only those that differ from the originals are sent again.
 */
import { hash } from 'node:crypto';
import type { MetricRecord, MetricRole } from '@trinity-rft/core';
import { isTimingKey } from '../lines/metric-lines.js';

type ByRole<T> = Readonly<Partial<Record<MetricRole, T>>>;

export interface SentRecords {
  /** Number of records of each role that were sent. */
  readonly roles: ByRole<number>;
  /** Digests of the most recent of these records, in order. */
  readonly digests: ByRole<readonly string[]>;
}

export const nothingSent: SentRecords = { roles: {}, digests: {} };

/** Identity of a record in `metrics.jsonl`. */
export interface RecordPlace {
  readonly role: MetricRole;
  /** Number of the record among the records of its role, starting at 1. */
  readonly place: number;
  readonly digest: string;
}

/**
 * Number of digests that are kept per role. A training run rarely repeats more records than this.
 */
const keptDigests = 1000;

/**
 * Returns the digest of a record. Timings are not included, because they differ when a step is
 * repeated.
 */
export function digestOf({ step, metrics }: MetricRecord): string {
  const entries = Object.entries(metrics).filter(([key]) => !isTimingKey(key));
  return hash('sha256', JSON.stringify([step, entries]), 'base64url').slice(0, 11);
}

export function isSent({ roles, digests }: SentRecords, record: RecordPlace): boolean {
  const { role, place, digest } = record;
  const sent = roles[role] ?? 0;
  const kept = digests[role] ?? [];
  return place <= sent && (kept[kept.length - 1 - sent + place] ?? digest) === digest;
}

export function withSent(
  { roles, digests }: SentRecords,
  records: readonly RecordPlace[],
): SentRecords {
  const counts = { ...roles };
  const changed: Partial<Record<MetricRole, string[]>> = {};
  for (const { role, place, digest } of records) {
    const sent = counts[role] ?? 0;
    const all = (changed[role] ??= [...(digests[role] ?? [])]);
    // A repeated record replaces the digest at its place, and a new one is added.
    if (place > sent) all.push(digest);
    else all[all.length - 1 - sent + place] = digest;
    counts[role] = Math.max(sent, place);
  }
  const latest = Object.entries(changed).map(([role, all]) => [role, all.slice(-keptDigests)]);
  return { roles: counts, digests: { ...digests, ...Object.fromEntries(latest) } };
}
