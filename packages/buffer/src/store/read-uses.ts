/** Reads which train steps used which experiences, from a store that another process may own. */
import type { DatabaseSync } from 'node:sqlite';
import { hasAdvantages } from './schema.js';
import { readTokenAdvantages } from './stored-advantage.js';

/** One use of an experience by a train step. */
export interface ExperienceUse {
  readonly id: number;
  readonly trainStep: number;
  /**
   * True if the train step dropped the experience without training on it, because it was too old or
   * surplus.
   */
  readonly dropped: boolean;
  /**
   * Mean advantage over the tokens that were trained on. Absent if the train step used the
   * advantages that were stored with the experience.
   */
  readonly advantage?: number;
  /**
   * One advantage per response token, NaN for tokens that were not trained on. Only returned by
   * `uses`, and only if the advantages of the tokens differ.
   */
  readonly tokenAdvantages?: Float32Array;
}

/** A use, with its position among all recorded uses. Positions start at 1. */
interface PlacedUse extends ExperienceUse {
  readonly place: number;
}

export interface UseReader {
  /**
   * Returns the uses by train steps from `trainStep` on, in the order in which they were recorded.
   */
  usedSince(trainStep: number): readonly ExperienceUse[];
  /**
   * Returns the first `limit` uses after the position `place`, so that many uses can be read in
   * parts.
   */
  usesAfter(place: number, limit: number): readonly PlacedUse[];
  /** Returns the uses of one experience, oldest first. */
  uses(id: number): readonly ExperienceUse[];
}

export function useReader(database: DatabaseSync): UseReader {
  const advantages = hasAdvantages(database);
  const columns = `id, train_step, dropped, ${advantages ? '' : 'NULL AS '}advantage`;
  const since = database.prepare(
    `SELECT ${columns} FROM used WHERE train_step >= ? ORDER BY rowid`,
  );
  const after = database.prepare(
    `SELECT rowid AS place, ${columns} FROM used WHERE rowid > ? ORDER BY rowid LIMIT ?`,
  );
  const of = database.prepare(`SELECT ${columns} FROM used WHERE id = ? ORDER BY train_step`);
  const tokens = advantages
    ? database.prepare('SELECT bytes FROM token_advantage WHERE id = ? AND train_step = ?')
    : undefined;
  const withTokens = (use: ExperienceUse): ExperienceUse => {
    const bytes = tokens?.get(use.id, use.trainStep)?.['bytes'];
    return bytes instanceof Uint8Array
      ? { ...use, tokenAdvantages: readTokenAdvantages(bytes) }
      : use;
  };
  return {
    usedSince: (trainStep) => since.all(trainStep).map(toUse),
    usesAfter: (place, limit) =>
      after.all(place, limit).map((row) => ({ ...toUse(row), place: Number(row['place']) })),
    uses: (id) => of.all(id).map(toUse).map(withTokens),
  };
}

function toUse(row: Readonly<Record<string, unknown>>): ExperienceUse {
  const { advantage } = row;
  const use = {
    id: Number(row['id']),
    trainStep: Number(row['train_step']),
    dropped: row['dropped'] === 1,
  };
  return typeof advantage === 'number' ? { ...use, advantage } : use;
}
