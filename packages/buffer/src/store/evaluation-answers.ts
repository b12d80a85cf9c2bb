/**
 * Stores the responses of evaluations in an experience store of limited size, so that they can be
 * inspected. They are not trained on.
 */
import { type Experience, withFields } from '@trinity-rft/core';
import { openSqliteRows } from './sqlite.js';
import type { StoredRow } from './row-driver.js';

interface EvaluationAnswers {
  /** Path of the database, which is created if it is missing. */
  readonly path: string;
  readonly set: string;
  /** Version of the weights that sampled the responses. */
  readonly policyVersion: number;
  readonly answers: readonly Experience[];
}

/**
 * Maximum number of tokens per set and version. Each token takes about nine bytes, in addition to
 * the text.
 */
const mostTokens = 2 ** 20;
/** Maximum number of versions to keep: the first version and the newest versions. */
const mostVersions = 16;

/**
 * Stores the responses of an evaluation as the batch `<version>/<set>`. If the batch exists, it is
 * replaced. Keeps only the first version and the newest versions, 16 in total, and deletes the
 * responses of all others. If the responses have more than about a million tokens, stores only
 * those of the first tasks.
 * @throws BufferError as `sqliteExperienceStore`
 */
export function recordAnswers({ path, set, policyVersion, answers }: EvaluationAnswers): void {
  const batch = `${policyVersion}/${set}`;
  const rows = openSqliteRows(path);
  try {
    const stored = rows.unsettled();
    const versions = [...new Set([...stored.map(versionOf), policyVersion])].toSorted(
      (a, b) => a - b,
    );
    const kept = new Set([...versions.slice(0, 1), ...versions.slice(1 - mostVersions)]);
    const replaced = stored.filter(
      (row) => row.uid.startsWith(`${batch}/`) || !kept.has(versionOf(row)),
    );
    if (replaced.length > 0) {
      const trainStep = rows.lastTrainStep() + 1;
      rows.settle({ used: replaced, stale: [] }, { trainStep, at: 0 });
      rows.prune(trainStep);
    }
    const own = withinTokens(answers).map((answer) =>
      withFields(answer, { eid: { ...answer.eid, batch } }),
    );
    rows.insert(own, undefined);
  } finally {
    rows.close();
  }
}

const versionOf = ({ uid }: StoredRow): number => Number.parseInt(uid, 10);

function withinTokens(answers: readonly Experience[]): readonly Experience[] {
  let tokens = 0;
  return answers.filter((answer) => (tokens += answer.tokens.length) <= mostTokens);
}
