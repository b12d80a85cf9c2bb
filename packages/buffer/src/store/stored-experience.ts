/** Reads an experience from a row of a store, and verifies it. */
import type { Experience } from '@trinity-rft/core';
import { decodeExperience } from '@trinity-rft/core/store';
import { assertChecksum, damagedStore, experienceChecksum } from './checksum.js';

/** Columns that {@link readStored} needs. */
export const storedColumns = 'id, uid, policy_version, bytes, checksum';
/**
 * The same columns for a store of version 1, which has no checksums. Such a store is only opened
 * for reading.
 */
export const storedColumnsOfVersion1 = 'id, uid, policy_version, bytes, NULL AS checksum';

/**
 * Reads an experience from a row.
 * @throws BufferError if the row is damaged
 */
export function readStored(row: Readonly<Record<string, unknown>>): Experience {
  const id = Number(row['id']);
  const bytes = row['bytes'] as Uint8Array;
  const key = String(row['uid']);
  const policyVersion = Number(row['policy_version']);
  if (!(bytes instanceof Uint8Array)) throw damagedStore(`Experience ${id} holds no bytes`);
  const checksum = experienceChecksum({ id, key, policyVersion, bytes });
  assertChecksum(row['checksum'], checksum, `Experience ${id} (${key})`);
  return decodeExperience(bytes);
}
