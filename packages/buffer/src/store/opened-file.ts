/** Detects that an open file has been removed or replaced, so that writes to it would be lost. */
import { statSync } from 'node:fs';
import { BufferError } from '@trinity-rft/core';

export interface OpenedFile {
  /** @throws BufferError if the path now has another file or none */
  assertThere(): void;
}

export function openedFile(path: string): OpenedFile {
  const opened = identityOf(path);
  return {
    assertThere: () => {
      const now = identityOf(path);
      if (now === opened) return;
      const what = now === undefined ? 'removed' : 'replaced';
      throw new BufferError(
        `${path} has been ${what} while it was in use; what is stored from now on would be lost. Restore the folder of the run, or start the run again with another name.`,
        { code: 'BUFFER_GONE' },
      );
    },
  };
}

/** Device and inode of a file; undefined if there is none. */
export function identityOf(path: string): string | undefined {
  const found = statSync(path, { throwIfNoEntry: false, bigint: true });
  return found && `${found.dev}/${found.ino}`;
}
