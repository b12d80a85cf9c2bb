/** The same task in several explore steps of a run: its answers by different weights. */
import { runKey } from '@trinity-rft/core';
import type { TaskHistory } from '../interface/types.js';
import { within } from '../shared/within.js';
import { rowsOfRun } from './conversation.js';
import { headOf } from './head.js';
import { matchingRows } from './matching.js';
import { parseQuery } from './query.js';
import type { RolloutStore } from './store.js';
import { questionOf, writtenBy } from './texts.js';

const longestText = 1000;
/** Maximum number of explore steps in an answer, evenly spread. */
const most = 100;
const waitMs = 1000;

/** Undefined if there is no such row. */
export async function historyOf(id: number, store: RolloutStore): Promise<TaskHistory | undefined> {
  const chosen = store.reader.row(id);
  if (!chosen) return undefined;
  const { taskset, row } = headOf(id, chosen.experience);
  const tokenizer = await store.tokenizer();
  const [first = chosen] = rowsOfRun(`${runKey(chosen.experience.eid)}/`, store);
  const question = questionOf(first.experience, tokenizer);
  if (row === undefined) return { taskset, row, question, times: [], left: 0 };
  const { index } = store;
  await within(waitMs, index.catchUp());
  const { columns } = index;
  const size = index.size();
  const query = parseQuery({ taskset, row: String(row) });
  const rows = [...matchingRows(query, { columns, size, failures: new Map() })];
  const byBatch = [...Map.groupBy(rows, (position) => columns.batch.at(position) ?? '')];
  const shown = spread(byBatch, most);
  const total = store.reader.count();
  return {
    taskset,
    row,
    question,
    times: shown.map(([batch, positions]) => timeOf(batch, positions, store, textAt)),
    left: byBatch.length - shown.length,
    progress: size < total ? { done: size, of: total } : undefined,
  };

  function textAt(rowId: number): string {
    const experience = store.reader.row(rowId)?.experience;
    return experience ? writtenBy(experience, tokenizer, longestText) : '';
  }
}

function timeOf(
  batch: string,
  positions: readonly number[],
  { index: { columns } }: RolloutStore,
  textAt: (id: number) => string,
): TaskHistory['times'][number] {
  // The last call of each run has what the run came to.
  const runs = Map.groupBy(positions, (position) => columns.run.at(position));
  const last = [...runs.values()].map((run) =>
    run.reduce((a, b) => (columns.step.at(b) > columns.step.at(a) ? b : a)),
  );
  const rewardAt = (position: number): number | undefined => {
    const reward = columns.reward.at(position);
    return Number.isNaN(reward) ? undefined : reward;
  };
  const sorted = last.toSorted((a, b) => (rewardAt(b) ?? -Infinity) - (rewardAt(a) ?? -Infinity));
  const answer = (position: number | undefined): TaskHistory['times'][number]['best'] => {
    const id = position === undefined ? 0 : columns.id.at(position);
    return {
      id,
      reward: position === undefined ? undefined : rewardAt(position),
      text: textAt(id),
    };
  };
  const rewards = last.flatMap((position) => rewardAt(position) ?? []);
  return {
    batch,
    policyVersion: columns.policyVersion.at(positions[0] ?? 0),
    attempts: last.length,
    meanReward:
      rewards.length === 0 ? undefined : rewards.reduce((a, b) => a + b, 0) / rewards.length,
    best: answer(sorted.at(0)),
    worst: answer(sorted.at(-1)),
  };
}

/** At most `count` evenly spread items, including the first and the last. */
function spread<T>(items: readonly T[], count: number): readonly T[] {
  if (items.length <= count) return items;
  const step = (items.length - 1) / (count - 1);
  return Array.from({ length: count }, (_, i) => items[Math.round(i * step)]).filter(
    (item): item is T => item !== undefined,
  );
}
