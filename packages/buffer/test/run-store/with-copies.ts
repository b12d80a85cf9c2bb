import type { describeRunStore } from '@trinity-rft/testing';
import type { RunDatabase } from '../../src/run-store/database/run-database.js';

/** Called with each transaction, which the test may send again. */
export type OnWrite = Parameters<
  Awaited<ReturnType<Parameters<typeof describeRunStore>[1]>>['open']
>[0];

/**
 * Wraps a database so that transactions may arrive twice, as if the network had duplicated them.
 */
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
