/** Applies a fault to a copy of a stopped run, resumes the copy, and judges the outcome. */
import { cpSync, existsSync, readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { metricLines, usedRows, weightsDigest } from '../../apps/runner/test/support/run-record.ts';
import { describeError, TrinityError } from '../../packages/core/src/index.ts';
import type { Fault } from './damage.ts';
import { jobOf, train, type Ended } from './workspace.ts';

/**
 * Verdict on a resumed run. `refused`: one of our errors names the fault. `equal`: the run ends as it would without the
 * fault. `record only`: as `equal`, except for the damaged file, which is a record for users. The other two are
 * failures.
 */
export type Verdict = 'refused' | 'equal' | 'record only' | 'NO NAMED ERROR' | 'SILENTLY DIFFERENT';

export interface Judgement {
  readonly verdict: Verdict;
  /** Error message, or the difference of the results. */
  readonly detail: string;
}

const recordFiles = ['rollouts', 'samples'];

/** Results that must not depend on a fault. */
export function resultOf(folder: string) {
  const job = jobOf(folder);
  const lines = metricLines(job);
  const previewOf = (name: string): string => {
    const file = path.join(job, 'monitor', `${name}.jsonl`);
    return existsSync(file) ? readFileSync(file, 'utf8') : '';
  };
  return {
    weights: weightsDigest(job),
    experiences: usedRows(path.join(job, 'buffer/experience_buffer.db')),
    metrics: Object.groupBy(lines, ({ role }) => role),
    previews: recordFiles.map(previewOf),
  };
}

export type Result = ReturnType<typeof resultOf>;

/**
 * Applies the fault to a copy of a stopped run, resumes the copy, and compares the results.
 * @param stopped folder of the stopped run, which is not modified
 */
export async function judge(stopped: string, fault: Fault, expected: Result): Promise<Judgement> {
  const folder = `${stopped}-copy`;
  rmSync(folder, { recursive: true, force: true });
  cpSync(stopped, folder, { recursive: true });
  fault.apply(jobOf(folder));
  const ended = await train(folder);
  try {
    return ended.error === undefined ? compare(folder, fault, expected) : named(ended);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function named({ error }: Ended): Judgement {
  const detail = describeError(error);
  return { verdict: TrinityError.is(error) ? 'refused' : 'NO NAMED ERROR', detail };
}

function compare(folder: string, { recordOnly }: Fault, expected: Result): Judgement {
  const found = resultOf(folder);
  const different = (Object.keys(expected) as (keyof Result)[]).filter(
    (part) => !isDeepStrictEqual(found[part], expected[part]),
  );
  const detail = different.join(', ');
  if (different.length === 0) return { verdict: 'equal', detail };
  const isRecord = different.every((part) => part === 'metrics' || part === 'previews');
  return { verdict: recordOnly && isRecord ? 'record only' : 'SILENTLY DIFFERENT', detail };
}
