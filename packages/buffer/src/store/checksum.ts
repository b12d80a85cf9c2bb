/**
 * Checksums of stored rows. They detect changes caused by a damaged disk, a faulty copy or another
 * program. Computing a checksum takes a thousandth of the time needed to store a row.
 */
import { crc32 } from 'node:zlib';
import { BufferError } from '@trinity-rft/core';

/** One row of the table `experience`. */
export interface StoredExperience {
  readonly id: number;
  readonly key: string;
  readonly policyVersion: number;
  readonly bytes: Uint8Array;
}

export const experienceChecksum = ({ id, key, policyVersion, bytes }: StoredExperience): number =>
  crc32(`${id} ${policyVersion} ${key}`, crc32(bytes));

/**
 * Returns the checksum of a row of the table `used`.
 * @param at time at which the experience was used; null in rows of earlier versions
 */
export const usedChecksum = (
  id: number,
  trainStep: number,
  dropped: number,
  at: number | null,
): number => crc32(`${id} ${trainStep} ${dropped}${at === null ? '' : ` ${at}`}`);

export const stateChecksum = (name: string, json: string): number => crc32(`${name} ${json}`);

/**
 * Compares a stored checksum with the actual checksum. Does nothing for rows of earlier versions,
 * whose checksum is null.
 * @throws BufferError if the checksums differ
 */
export function assertChecksum(stored: unknown, actual: number, what: string): void {
  if (stored === null || Number(stored) === actual) return;
  throw damagedStore(`${what} has been changed since it was stored: it differs from its checksum`);
}

export const damagedStore = (what: string): BufferError =>
  new BufferError(
    `${what}. The disk or another program has changed the experience store. Restore it from a copy, or start the run again with another name.`,
    { code: 'BUFFER_DAMAGED' },
  );
