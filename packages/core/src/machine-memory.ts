/** Memory that this process may use. */
import { totalmem } from 'node:os';

/** Bytes of memory of the machine, or of the container that limits the process. */
export const machineMemory = (): number =>
  Math.min(totalmem(), process.constrainedMemory() || Infinity);
