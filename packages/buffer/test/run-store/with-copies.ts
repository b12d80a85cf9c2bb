import type { describeRunStore } from '@trinity-rft/testing';
import type { RunDatabase } from '../../src/run-store/database/run-database.js';

/** Called with each transaction, to be sent once more by the contract. */
export type OnWrite = Parameters<
  Awaited<ReturnType<Parameters<typeof describeRunStore>[1]>>['open']
>[0];

/** A database whose transactions can arrive once more: as copies that a network has kept. */
export const withCopies = (
  database: RunDatabase,
  onWrite: OnWrite = () => undefined,
): RunDatabase => ({
  ...database,
  write: (what, work, options) => {
    onWrite(() => database.write(what, work, options));
    return database.write(what, work, options);
  },
});
