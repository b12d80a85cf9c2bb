/** Memory that this process may use. */
import { totalmem } from 'node:os';

/**
 * Returns the bytes of memory of the machine, or of the container if it limits the process to less.
 */
export const machineMemory = (): number =>
  Math.min(totalmem(), process.constrainedMemory() || Infinity);
