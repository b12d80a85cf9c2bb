import type { RunDatabase } from '../../src/run-store/database/run-database.js';

/** A database whose transactions can arrive once more: as copies that a network has kept. */
export const withCopies = (
  database: RunDatabase,
  onWrite: (copy: () => Promise<unknown>) => void = () => undefined,
): RunDatabase => ({
  ...database,
  write: (what, work, options) => {
    onWrite(() => database.write(what, work, options));
    return database.write(what, work, options);
  },
});
