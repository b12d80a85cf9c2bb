/** File of the trainer's experiences. It outlives the processes that open it, one at a time. */
import { leaseStore } from '../../packages/buffer/src/store/lease-store.ts';
import { memoryRows } from '../../packages/buffer/src/store/memory.ts';
import { BufferError } from '../../packages/core/src/index.ts';
import type { ExperienceStore } from '../../packages/core/src/store-seam.ts';
import type { Process } from './kernel.ts';

export interface ExperienceFile {
  /**
   * Opens the file.
   * @throws BufferError when another living process has the file open
   */
  open(process: Process): ExperienceStore;
}

export function experienceFile(): ExperienceFile {
  const rows = memoryRows();
  let owner: Process | undefined;
  return {
    open: (process) => {
      if (owner?.alive) throw lockedError(owner);
      owner = process;
      return leaseStore({
        ...rows,
        insert: (...args) => {
          assertRoom(process);
          return rows.insert(...args);
        },
        settle: (...args) => {
          assertRoom(process);
          rows.settle(...args);
        },
        close: () => {
          if (owner === process) owner = undefined;
        },
      });
    },
  };
}

const lockedError = ({ name }: Process): BufferError =>
  new BufferError(`The experiences are open in ${name}.`, { code: 'BUFFER_LOCKED' });

function assertRoom({ diskIsFull }: Process): void {
  if (diskIsFull) throw new BufferError('The disk is full.', { code: 'BUFFER_STORAGE' });
}
