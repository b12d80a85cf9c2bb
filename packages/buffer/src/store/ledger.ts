/**
 * Stores how many rows an experience store must contain. A difference reveals that a damaged page
 * or another program has removed rows.
 */
import type { DatabaseSync } from 'node:sqlite';
import { eachRow } from '@trinity-rft/core/store';
import { assertChecksum, damagedStore, usedChecksum } from './checksum.js';
import type { StateTable } from './state-table.js';

export interface Ledger {
  /** Number of rows in the table `experience`. */
  readonly experiences: number;
  /**
   * Number of rows in the table `used`. `dropped` is the number of these rows that were not trained
   * on.
   */
  readonly used: number;
  readonly dropped: number;
  /** The largest id that was ever assigned, even if its row has been deleted. */
  readonly lastId: number;
  /** Number of deleted rows that were trained on. @default 0 */
  readonly prunedTrained?: number;
  /** Number of deleted rows that were dropped. @default 0 */
  readonly prunedDropped?: number;
  /** The last train step whose rows have been deleted. @default 0 */
  readonly prunedUpTo?: number;
  /**
   * Number of rows in `experience` that an earlier version stored without a checksum.
   * @default 0
   */
  readonly unchecked?: number;
}

const name = 'ledger';

/**
 * Reads the ledger. To change the ledger, read it inside the transaction that writes it, because
 * another process may add rows.
 */
export function readLedger(state: StateTable): Ledger {
  const json = state.get(name);
  if (json === undefined) throw damagedStore('The number of stored experiences is missing');
  return JSON.parse(json) as Ledger;
}

export function writeLedger(state: StateTable, ledger: Ledger): void {
  state.set(name, JSON.stringify(ledger));
}

/**
 * Creates the ledger of a store that has none, because it is new or from an earlier version. Must
 * be called inside a transaction.
 */
export function createLedger(database: DatabaseSync, state: StateTable): void {
  const actual = countRows(database);
  writeLedger(state, { ...actual, unchecked: actual.experiences });
}

/**
 * Compares a store with its ledger, and checks the records of train steps.
 * @throws BufferError if rows are missing, were added or have been changed
 */
export function checkLedger(database: DatabaseSync, state: StateTable): Ledger {
  const ledger = readLedger(state);
  const actual = countRows(database);
  assertCount('experiences', actual.experiences, ledger.experiences);
  assertCount('records of what was trained on', actual.used, ledger.used);
  return ledger;
}

function assertCount(what: string, actual: number, expected: number): void {
  if (actual === expected) return;
  throw damagedStore(`The store has ${actual} ${what}, and ${expected} were stored`);
}

function countRows(database: DatabaseSync): Ledger {
  const { experiences, lastId } =
    database
      .prepare(
        'SELECT count(*) AS experiences, coalesce(max(id), 0) AS lastId FROM experience NOT INDEXED',
      )
      .get() ?? {};
  let used = 0;
  let dropped = 0;
  const rows = database.prepare(
    'SELECT id, train_step AS step, dropped, used_at AS at, checksum FROM used',
  );
  for (const row of eachRow(rows)) {
    const [id, step, late] = [Number(row['id']), Number(row['step']), Number(row['dropped'])];
    const what = `The record that train step ${step} used experience ${id}`;
    const at = row['at'] === null ? null : Number(row['at']);
    assertChecksum(row['checksum'], usedChecksum(id, step, late, at), what);
    used++;
    dropped += late;
  }
  return { experiences: Number(experiences), used, dropped, lastId: Number(lastId) };
}
