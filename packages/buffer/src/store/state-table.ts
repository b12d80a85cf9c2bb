/**
 * Reads and writes named JSON values in a store, such as the explorer's state, the ledger, and the
 * owner.
 */
import type { DatabaseSync } from 'node:sqlite';
import { assertChecksum, stateChecksum } from './checksum.js';

export interface StateTable {
  /**
   * Returns the JSON that is stored under a name, or undefined if there is none.
   * @throws BufferError if the stored JSON is damaged
   */
  get(name: string): string | undefined;
  set(name: string, json: string): void;
}

export function stateTable(database: DatabaseSync): StateTable {
  const get = database.prepare('SELECT json, checksum FROM state WHERE name = ?');
  const set = database.prepare(
    'INSERT INTO state (name, json, checksum) VALUES (?, ?, ?) ON CONFLICT (name) DO UPDATE SET json = excluded.json, checksum = excluded.checksum',
  );
  return {
    get: (name) => {
      const row = get.get(name);
      if (!row) return undefined;
      const json = String(row['json']);
      assertChecksum(row['checksum'], stateChecksum(name, json), `The stored state "${name}"`);
      return json;
    },
    set: (name, json) => void set.run(name, json, stateChecksum(name, json)),
  };
}
