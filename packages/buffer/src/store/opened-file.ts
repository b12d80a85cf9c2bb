/** Detects that an open file has been removed or replaced, so that writes to it would be lost. */
import { statSync } from 'node:fs';
import { BufferError } from '@trinity-rft/core';

export interface OpenedFile {
  /**
   * Checks that the opened file is still at its path.
   * @throws BufferError if the file has been removed or replaced
   */
  readonly assertThere: () => void;
}

/**
 * Remembers the identity of a file that was just opened, so that its removal can be detected later.
 * @param place name of the file, used in messages
 */
export function openedFile(path: string, place = path, code = 'BUFFER_GONE'): OpenedFile {
  const opened = identityOf(path);
  return {
    assertThere: () => {
      const now = identityOf(path);
      if (now === opened) return;
      const what = now === undefined ? 'removed' : 'replaced';
      throw new BufferError(
        `${place} has been ${what} while it was in use; what is stored from now on would be lost. Restore the folder of the run, or start the run again with another name.`,
        { code },
      );
    },
  };
}

/** Returns the device and inode of a file, or undefined if the file does not exist. */
function identityOf(path: string): string | undefined {
  const found = statSync(path, { throwIfNoEntry: false, bigint: true });
  return found && `${found.dev}/${found.ino}`;
}
