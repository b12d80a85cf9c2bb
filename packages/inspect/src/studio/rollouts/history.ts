/** History of a task: its answers in the explore steps of a run. */
import type { TaskHistory } from '../interface/types.js';
import { within } from '../shared/within.js';
import { matchingRollouts } from './matching.js';
import { knownNumber, numberReader } from './numbers.js';
import { toQuery } from './query.js';
import { rolloutCalls } from './rollout.js';
import type { RolloutStore } from './store.js';
import { answerOf, askedIn } from './texts.js';

const longestText = 4000;
/** Maximum number of explore steps in a history. Of more steps, evenly spread ones are shown. */
const most = 100;
const waitMs = 1000;

/**
 * Returns the history of the task that row `id` of the store belongs to, or undefined if there is
 * no such row.
 */
export async function historyOf(id: number, store: RolloutStore): Promise<TaskHistory | undefined> {
  const calls = await rolloutCalls(id, store);
  if (!calls) return undefined;
  const [{ call, row: first }] = calls;
  const tokenizer = await store.tokenizer();
  const question = askedIn(first.experience, tokenizer);
  const { taskset, row } = call;
  if (row === undefined) return { taskset, row, question, times: [], left: 0 };
  const { index } = store;
  const isComplete = await within(waitMs, index.catchUp());
  const found = matchingRollouts(toQuery({ taskset, row }), index, new Map());
  const batchOf = (rollout: number): string =>
    index.columns.batch.at(index.chains.first(rollout)) ?? '';
  const byBatch = [...Map.groupBy(found, batchOf)];
  const shown = spread(byBatch, most);
  return {
    taskset,
    row,
    question,
    times: shown.map(([batch, rollouts]) => timeOf(batch, rollouts, store, textAt)),
    left: byBatch.length - shown.length,
    progress: isComplete ? undefined : index.progress(store.reader.count()),
  };

  function textAt(rowId: number): string {
    const experience = store.reader.row(rowId)?.experience;
    return experience ? answerOf(experience, tokenizer, longestText) : '';
  }
}

function timeOf(
  batch: string,
  rollouts: readonly number[],
  { index }: RolloutStore,
  textAt: (id: number) => string,
): TaskHistory['times'][number] {
  const { columns, chains } = index;
  const rewardOf = numberReader(index, 'reward');
  const rated = rollouts
    .map((rollout) => ({ rollout, reward: knownNumber(rewardOf(rollout)) }))
    .toSorted((a, b) => (b.reward ?? -Infinity) - (a.reward ?? -Infinity));
  const answer = (at: number): TaskHistory['times'][number]['best'] => {
    const { rollout = 0, reward } = rated.at(at) ?? {};
    // The last call has the final answer.
    const id = columns.id.at(chains.calls(rollout).at(-1) ?? 0);
    return { id, reward, text: textAt(id) };
  };
  const rewards = rated.flatMap(({ reward }) => reward ?? []);
  return {
    batch,
    policyVersion: columns.policyVersion.at(chains.first(rollouts[0] ?? 0)),
    attempts: rollouts.length,
    meanReward: knownNumber(rewards.reduce((a, b) => a + b, 0) / rewards.length),
    best: answer(0),
    worst: answer(-1),
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
