/** Between the processes of a machine: a file next to the database whose times are watched. */
import { utimesSync, watch, writeFileSync } from 'node:fs';
import { localBell, type Bell } from './bell.js';

/** @param path of the file; it is created when missing */
export function fileBell(path: string): Bell {
  const local = localBell();
  writeFileSync(path, '', { flag: 'a' });
  const watcher = watch(path, { persistent: false }, () => local.ring());
  // Without a watcher (the limit of inotify, a network drive) waiters also poll.
  watcher.on('error', () => watcher.close());
  return {
    ring: () => {
      try {
        const now = Date.now() / 1000;
        utimesSync(path, now, now);
      } catch {
        // The folder was removed: the next transaction says so.
      }
    },
    listen: local.listen,
    close: () => {
      watcher.close();
      local.close();
    },
  };
}
