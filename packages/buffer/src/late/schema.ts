/**
 * Tables of rollouts that wait for rewards. Triggers in the database enforce the rules for rewards,
 * so that they apply to every program that writes rewards:
 * `INSERT INTO score (run, reward) VALUES ('3/1/0', 0.7)`.
 */
import type { RewardReceipt } from '@trinity-rft/core/store';

/** SQLite application id, "TRXL" in ASCII. It distinguishes these files from other databases. */
export const applicationId = 0x5452584c;

export type Refusal = Exclude<RewardReceipt, 'stored'>;

/** Error messages for rewards that are not stored. */
export const refusals: Readonly<Record<Refusal, string>> = {
  scored: 'the run has another reward already',
  unusable: 'the reward is not a number from -1e9 to 1e9',
  late: 'the deadline of the run has passed',
  unknown: 'no run with this id waits for a reward',
};

export const schema = `
  CREATE TABLE pending_run (
    run TEXT PRIMARY KEY,
    task TEXT NOT NULL,
    step INTEGER NOT NULL,
    own_reward REAL,
    deadline INTEGER NOT NULL,
    is_open INTEGER NOT NULL DEFAULT 0,
    is_expired INTEGER NOT NULL DEFAULT 0
  ) WITHOUT ROWID;
  CREATE TABLE pending_experience (
    id INTEGER PRIMARY KEY,
    run TEXT NOT NULL,
    task TEXT NOT NULL,
    bytes BLOB NOT NULL
  );
  CREATE TABLE score (run TEXT PRIMARY KEY, reward REAL NOT NULL) WITHOUT ROWID;
  CREATE TRIGGER score_rules BEFORE INSERT ON score BEGIN
    SELECT RAISE(IGNORE) WHERE EXISTS (
      SELECT 1 FROM score WHERE run = NEW.run AND reward = NEW.reward);
    SELECT RAISE(ABORT, '${refusals.scored}')
      WHERE EXISTS (SELECT 1 FROM score WHERE run = NEW.run);
    SELECT RAISE(ABORT, '${refusals.unusable}')
      WHERE typeof(NEW.reward) NOT IN ('integer', 'real') OR abs(NEW.reward) > 1e9;
    SELECT RAISE(ABORT, '${refusals.late}')
      WHERE EXISTS (SELECT 1 FROM pending_run WHERE run = NEW.run AND is_expired);
    SELECT RAISE(ABORT, '${refusals.unknown}') WHERE NOT EXISTS (
      SELECT 1 FROM pending_run WHERE run = NEW.run AND is_open AND own_reward IS NULL);
  END;
  PRAGMA application_id = ${applicationId};
  PRAGMA user_version = 1;
`;

export const indexes = `
  CREATE INDEX IF NOT EXISTS pending_experience_run ON pending_experience (run);
  CREATE INDEX IF NOT EXISTS pending_experience_task ON pending_experience (task);
`;

/**
 * Statements that migrate tables of version 1. After the migration, the checksum of a reward may be
 * changed, but not the reward itself.
 */
export const upgrade = `
  DROP TRIGGER IF EXISTS score_is_final;
  CREATE TRIGGER score_is_final BEFORE UPDATE OF run, reward ON score BEGIN
    SELECT RAISE(ABORT, '${refusals.scored}');
  END;
  PRAGMA user_version = 2;
`;
