/**
 * A signal between the processes of a machine: a file next to the database whose modification time
 * is watched.
 */
import { utimesSync, watch, writeFileSync } from 'node:fs';
import { localNotifier, type Notifier } from './notifier.js';

/** @param path path of the watched file, which is created if it is missing */
export function fileNotifier(path: string): Notifier {
  const local = localNotifier();
  writeFileSync(path, '', { flag: 'a' });
  const watcher = watch(path, { persistent: false }, () => local.notify());
  // If watching fails (limit of inotify, network drive), waiters still poll.
  watcher.on('error', () => watcher.close());
  return {
    notify: () => {
      try {
        const now = Date.now() / 1000;
        utimesSync(path, now, now);
      } catch {
        // The folder was removed: the next transaction reports it.
      }
    },
    listen: local.listen,
    close: () => {
      watcher.close();
      local.close();
    },
  };
}
