/**
 * Checksums of stored rows. They detect changes by a disk, a copy or another program, and cost a
 * thousandth of storing a row.
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

/** Checksum of a row of the table `used`. @param at null in rows of earlier versions */
export const usedChecksum = (
  id: number,
  trainStep: number,
  dropped: number,
  at: number | null,
): number => crc32(`${id} ${trainStep} ${dropped}${at === null ? '' : ` ${at}`}`);

export const stateChecksum = (name: string, json: string): number => crc32(`${name} ${json}`);

/**
 * Compares a checksum; does nothing for rows of earlier versions, which have no checksum (null).
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
