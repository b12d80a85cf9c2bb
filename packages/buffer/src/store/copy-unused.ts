/**
 * Copies an experience store for use by another training run. In the copy, no experience has been
 * used.
 */
import { inTransaction, openSqlite } from '@trinity-rft/core/store';
import { checkLedger, writeLedger } from './ledger.js';
import { prepareSchema } from './schema.js';
import { stateTable } from './state-table.js';

/**
 * Copies a snapshot of the experiences, without the records of train steps, to a new file. Another
 * process may have the store open.
 * @throws BufferError if the store is damaged, belongs to another program or is from a newer
 * version
 */
export function copyUnused(from: string, to: string): void {
  const original = openSqlite(from, { readOnly: true });
  try {
    original.prepare('VACUUM INTO ?').run(to);
  } finally {
    original.close();
  }
  const copy = openSqlite(to);
  try {
    prepareSchema(copy, from);
    const state = stateTable(copy);
    inTransaction(copy, () => {
      const { experiences, lastId, unchecked } = checkLedger(copy, state);
      copy.exec('DELETE FROM token_advantage; DELETE FROM used');
      writeLedger(state, { experiences, used: 0, dropped: 0, lastId, unchecked });
    });
  } finally {
    copy.close();
  }
}
