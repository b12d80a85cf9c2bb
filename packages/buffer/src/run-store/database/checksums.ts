/** Checksums of stored rows. They prevent training on damaged data. */
import { crc32 } from 'node:zlib';
import { BufferError } from '@trinity-rft/core';
import type { TrainRecord } from '@trinity-rft/core/store';

export const textChecksum = (...parts: readonly (string | number)[]): number =>
  crc32(parts.map((part) => `${String(part).length}:${part}`).join(' '));

/**
 * Returns the checksum of the task feed's state after an explore step.
 * @param isLast value of the column `is_last`, which only stores of earlier versions set
 */
export const feedChecksum = (step: number, feed: string, isLast: boolean): number =>
  textChecksum(step, feed, ...(isLast ? ['last'] : []));

export interface CheckedExperience {
  readonly uid: string;
  readonly place: number;
  readonly policy_version: number;
  readonly bytes: Uint8Array;
}

export const experienceChecksum = (row: CheckedExperience): number =>
  crc32(`${row.place} ${row.policy_version} ${row.uid}`, crc32(row.bytes));

export const recordChecksum = ({ trainStep, trained, kept = [], discarded }: TrainRecord): number =>
  crc32(
    JSON.stringify([trainStep, trained, kept, discarded.map((each) => [each.uid, each.reason])]),
  );

/**
 * Compares a stored checksum with the actual checksum.
 * @throws BufferError if the checksums differ
 */
export function assertChecksum(stored: number | null, actual: number, what: string): void {
  if (Number(stored) !== actual)
    throw damaged(`${what} has been changed since it was stored: it differs from its checksum`);
}

export const damaged = (found: string): BufferError =>
  new BufferError(
    `${found}. The disk or another program has changed the run store. Restore it from a copy, or start the run again with another name.`,
    { code: 'STORE_DAMAGED' },
  );
