/** Hashes of rows, by which duplicates are found and rows are split regardless of their order. */
import { createHash } from 'node:crypto';

/** Returns the first 132 bits of the string's SHA-256, as 22 characters of base64url. */
export const hashOf = (text: string): string =>
  createHash('sha256').update(text).digest('base64url').slice(0, 22);

/** Returns a number in [0, 1) that depends only on the hash. */
export const shareOf = (hash: string): number =>
  Buffer.from(hash, 'base64url').readUIntBE(0, 6) / 2 ** 48;
