/** All attempts at a task in one explore step, side by side. */
import type { ExperienceRow } from '@trinity-rft/buffer';
import { runKey, taskKey } from '@trinity-rft/core';
import type { Attempt, Group } from '../interface/types.js';
import { rowsOfRun } from './conversation.js';
import { headOf } from './head.js';
import { rowOf } from './list.js';
import type { RolloutStore } from './store.js';
import { questionOf, writtenBy } from './texts.js';

/** Maximum length of the text that the model wrote in one call. */
const longestText = 4000;

/** Undefined if there is no such row. */
export async function groupOf(id: number, store: RolloutStore): Promise<Group | undefined> {
  const chosen = store.reader.row(id);
  if (!chosen) return undefined;
  const { eid } = chosen.experience;
  const rows = rowsOfRun(`${taskKey(eid)}/`, store);
  const runs = Map.groupBy(rows, ({ experience }) => experience.eid.run);
  const [first] = rows;
  const tokenizer = await store.tokenizer();
  const attempts = await Promise.all([...runs.values()].map((run) => attemptOf(run, store)));
  const { batch, task, taskset, row } = headOf(id, chosen.experience);
  return {
    batch,
    task,
    taskset,
    row,
    question: first ? questionOf(first.experience, tokenizer) : '',
    attempts: attempts.toSorted(
      (a, b) => (b.reward ?? -Infinity) - (a.reward ?? -Infinity) || a.run - b.run,
    ),
    missing: await missingRuns(taskKey(eid), new Set(runs.keys()), store),
  };
}

async function attemptOf(rows: readonly ExperienceRow[], store: RolloutStore): Promise<Attempt> {
  const [tokenizer, toolCalls] = [await store.tokenizer(), await store.toolCalls()];
  const failures = await store.failures.read();
  const summaries = rows.map(({ id, experience }) =>
    rowOf(id, experience, store.reader.uses(id), toolCalls(experience)),
  );
  const sum = (read: (row: (typeof summaries)[number]) => number): number =>
    summaries.reduce((total, row) => total + read(row), 0);
  const last = rows.at(-1)?.experience;
  const known = summaries.flatMap(({ advantage }) => advantage ?? []);
  const failure = last && failures.get(runKey(last.eid));
  return {
    run: last?.eid.run ?? 0,
    reward: last?.reward,
    advantage:
      known.length === 0
        ? undefined
        : known.reduce((total, each) => total + each, 0) / known.length,
    policyVersion: last?.policyVersion ?? -1,
    responseTokens: sum(({ responseTokens }) => responseTokens),
    toolCalls: sum((row) => row.toolCalls),
    problem:
      summaries.findLast(({ problem }) => problem !== undefined)?.problem ??
      (failure?.isRewarded === true ? failure.message : undefined),
    calls: rows.map(({ id, experience }) => ({
      id,
      step: experience.eid.step,
      text: writtenBy(experience, tokenizer, longestText),
    })),
  };
}

async function missingRuns(
  task: string,
  there: ReadonlySet<number>,
  store: RolloutStore,
): Promise<Group['missing']> {
  const failures = await store.failures.read();
  return [...failures]
    .filter(([run]) => run.startsWith(`${task}/`))
    .map(([run, { message }]) => ({ run: Number(run.slice(task.length + 1)), failure: message }))
    .filter(({ run }) => !there.has(run))
    .toSorted((a, b) => a.run - b.run);
}
