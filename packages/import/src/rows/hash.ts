/** Hashes of rows: for duplicates, and for a split that does not depend on the order. */
import { createHash } from 'node:crypto';

/** 128 bits as text of 22 characters. */
export const hashOf = (text: string): string =>
  createHash('sha256').update(text).digest('base64url').slice(0, 22);

/** A number of [0, 1) that depends on the hash alone. */
export const shareOf = (hash: string): number =>
  Buffer.from(hash, 'base64url').readUIntBE(0, 6) / 2 ** 48;
