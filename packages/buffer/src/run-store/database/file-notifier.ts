import { utimesSync, watch, writeFileSync } from 'node:fs';
import { localNotifier, type Notifier } from './notifier.js';

/**
 * Creates a notifier that connects the processes of one machine. It watches the modification time
 * of a file next to the database.
 * @param path path of the watched file, which is created if it is missing
 */
export function fileNotifier(path: string): Notifier {
  const local = localNotifier();
  writeFileSync(path, '', { flag: 'a' });
  const watcher = watch(path, { persistent: false }, () => local.notify());
  // If the file cannot be watched (limit of inotify, network drive), waiting calls still poll.
  watcher.on('error', () => watcher.close());
  return {
    notify: () => {
      try {
        const now = Date.now() / 1000;
        utimesSync(path, now, now);
      } catch {
        // The folder was removed. The next transaction reports this.
      }
    },
    listen: local.listen,
    close: () => {
      watcher.close();
      local.close();
    },
  };
}
