import { totalmem } from 'node:os';

/**
 * Returns the memory that this process may use, in bytes: the machine's memory, or the limit of the
 * container if that is lower.
 */
export const machineMemory = (): number =>
  Math.min(totalmem(), process.constrainedMemory() || Infinity);
