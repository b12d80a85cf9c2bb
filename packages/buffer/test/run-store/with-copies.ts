import type { describeRunStore } from '@trinity-rft/testing';
import type { RunDatabase } from '../../src/run-store/database/run-database.js';

/** Called with each transaction, which the contract may send again. */
export type OnWrite = Parameters<
  Awaited<ReturnType<Parameters<typeof describeRunStore>[1]>>['open']
>[0];

/** A database whose transactions may arrive twice, because the network duplicated them. */
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
