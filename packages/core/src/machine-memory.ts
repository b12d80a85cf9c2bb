/** The memory that this process may take. */
import { totalmem } from 'node:os';

/** In bytes: that of the machine, or of the container that bounds it. */
export const machineMemory = (): number =>
  Math.min(totalmem(), process.constrainedMemory() || Infinity);
