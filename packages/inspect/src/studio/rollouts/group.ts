/** Attempts at a task in one explore step. */
import { spansOf, taskKey } from '@trinity-rft/core';
import type { Attempt, Group } from '../interface/types.js';
import { headOf } from './head.js';
import { readCalls, rolloutOf, type RolloutCalls } from './rollout.js';
import type { RolloutStore } from './store.js';
import { askedIn, writtenBy } from './texts.js';

/** Maximum length of the text that the model wrote in one call, in characters. */
const longestText = 4000;

/**
 * Returns the group of the attempt that row `id` of the store belongs to, or undefined if there is
 * no such row.
 */
export async function groupOf(id: number, store: RolloutStore): Promise<Group | undefined> {
  const { reader } = store;
  const chosen = reader.row(id);
  if (!chosen) return undefined;
  const { eid } = chosen.experience;
  const rows = reader.idsOfTask(taskKey(eid)).flatMap((each) => reader.row(each) ?? []);
  const runs = Map.groupBy(rows, ({ experience }) => experience.eid.run);
  const read = [...runs.values()].map((own) =>
    readCalls(
      own.map((row) => row.id),
      store,
    ),
  );
  const attempts = (await Promise.all(read)).flatMap((calls) => (calls ? [calls] : []));
  const { batch, task, taskset, row, truth } = headOf(id, chosen.experience);
  const first = attempts[0]?.[0].row.experience ?? chosen.experience;
  const shown = await Promise.all(attempts.map((calls) => attemptOf(calls, store)));
  return {
    batch,
    task,
    taskset,
    row,
    truth,
    question: askedIn(first, await store.tokenizer()),
    attempts: shown.toSorted(
      (a, b) => (b.reward ?? -Infinity) - (a.reward ?? -Infinity) || a.run - b.run,
    ),
    missing: await missingRuns(taskKey(eid), new Set(runs.keys()), store),
  };
}

async function attemptOf(calls: RolloutCalls, store: RolloutStore): Promise<Attempt> {
  const tokenizer = await store.tokenizer();
  const rollout = await rolloutOf(calls, store);
  return {
    ...rollout,
    calls: calls.flatMap(({ row: { id, experience } }) =>
      spansOf(experience).map(({ step }, i) => ({
        id,
        step,
        text: writtenBy(experience, tokenizer, longestText, i),
      })),
    ),
  };
}

async function missingRuns(
  task: string,
  there: ReadonlySet<number>,
  store: RolloutStore,
): Promise<Group['missing']> {
  const failures = await store.failures.read();
  return [...failures]
    .filter(([run]) => run.slice(0, run.lastIndexOf('/')) === task)
    .map(([run, { message }]) => ({ run: Number(run.slice(task.length + 1)), failure: message }))
    .filter(({ run }) => !there.has(run))
    .toSorted((a, b) => a.run - b.run);
}
