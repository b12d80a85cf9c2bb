/** Progress of a run by task. */
import type { TaskPage } from '../interface/types.js';
import { within } from '../shared/within.js';
import { headOf } from './head.js';
import { knownNumber, numberReader } from './numbers.js';
import type { TaskQuery, TaskSortKey } from './query.js';
import type { RowIndex } from './row-index.js';
import type { RolloutStore } from './store.js';
import { askedIn } from './texts.js';

/** Time in ms that a request waits for the index before it returns partial results. */
const waitMs = 250;
/**
 * Minimum pause before the list is computed again, as a multiple of the time that computing it
 * took.
 */
const pauses = 20;

/** Change of the reward of a task between its first and its latest visit. */
interface TaskCourse {
  /** Rollout whose prompt is shown as the question. */
  readonly rollout: number;
  /** Number of explore steps with the task. */
  readonly times: number;
  /** Mean rewards of the first and the latest step; NaN if no attempt has a reward. */
  readonly first: number;
  readonly latest: number;
}

export interface TaskList {
  page(query: TaskQuery): Promise<TaskPage>;
}

interface Known {
  readonly courses: readonly TaskCourse[];
  /** Identifies the contents of the index from which the courses were computed. */
  readonly state: string;
  /** Time, on the clock of `performance.now()`, before which the courses are not computed again. */
  readonly until: number;
}

export function taskList(store: RolloutStore): TaskList {
  const { index } = store;
  let known: Known = { courses: [], state: '', until: 0 };
  const look = (state: string): Known => {
    const start = performance.now();
    if (state === known.state || start < known.until) return known;
    const courses = coursesOf(index);
    const end = performance.now();
    known = { courses, state, until: end + pauses * (end - start) };
    return known;
  };
  return {
    page: async ({ sort, descending, page, size }) => {
      const isRead = await within(waitMs, index.catchUp());
      const state = `${index.detailed()}/${index.revision()}`;
      const { courses, state: seen } = look(state);
      const shown = courses.toSorted(by(sort, descending)).slice(page * size, (page + 1) * size);
      return {
        rows: await Promise.all(shown.map(async (course) => rowOf(course, store))),
        ...countsOf(courses),
        progress: isRead && seen === state ? undefined : index.progress(store.reader.count()),
      };
    },
  };
}

const changeOf = ({ times, first, latest }: TaskCourse): number =>
  times > 1 ? latest - first : Number.NaN;

function countsOf(all: readonly TaskCourse[]): Omit<TaskPage, 'rows' | 'progress'> {
  const changes = all.map(changeOf);
  const count = (holds: (change: number) => boolean): number => changes.filter(holds).length;
  return {
    tasks: all.length,
    better: count((change) => change > 0),
    worse: count((change) => change < 0),
    same: count((change) => change === 0),
  };
}

async function rowOf(course: TaskCourse, store: RolloutStore): Promise<TaskPage['rows'][number]> {
  const { index, reader } = store;
  const id = index.columns.id.at(index.chains.first(course.rollout));
  const experience = reader.row(id)?.experience;
  return {
    id,
    ...(experience && placeOf(id, experience)),
    question: experience ? askedIn(experience, await store.tokenizer()) : '',
    times: course.times,
    first: knownNumber(course.first),
    latest: knownNumber(course.latest),
    change: knownNumber(changeOf(course)),
  };
}

const placeOf = (...of: Parameters<typeof headOf>) => {
  const { taskset, row } = headOf(...of);
  return { taskset, row };
};

const readers: Readonly<Record<TaskSortKey, (course: TaskCourse) => number>> = {
  change: changeOf,
  first: ({ first }) => first,
  latest: ({ latest }) => latest,
  times: ({ times }) => times,
};

/** Orders tasks by their latest mean reward, lowest first; tasks without a reward come last. */
const byReward = (a: TaskCourse, b: TaskCourse): number =>
  (knownNumber(a.latest) ?? Infinity) - (knownNumber(b.latest) ?? Infinity);

/**
 * Returns a comparator of tasks. Tasks without a value for the sort key come last. Ties are broken
 * by the latest mean reward, then by the rollout.
 */
function by(sort: TaskSortKey, descending: boolean): (a: TaskCourse, b: TaskCourse) => number {
  const read = readers[sort];
  const missing = descending ? -Infinity : Infinity;
  const value = (course: TaskCourse): number => knownNumber(read(course)) ?? missing;
  return (a, b) => {
    const order = value(a) - value(b);
    return (descending ? -order : order) || byReward(a, b) || a.rollout - b.rollout;
  };
}

function coursesOf(index: RowIndex): readonly TaskCourse[] {
  const { columns, chains } = index;
  const rewardOf = numberReader(index, 'reward');
  const rollouts = new Map<number, number[]>();
  for (let rollout = 0; rollout < chains.count(); rollout++) {
    const first = chains.first(rollout);
    const row = columns.row.at(first);
    if (row < 0 || !chains.isThere(rollout)) continue;
    // The key combines both numbers, because rows fit into 31 bits.
    const key = columns.taskset.codes.at(first) * 2 ** 31 + row;
    const before = rollouts.get(key);
    if (before) before.push(rollout);
    else rollouts.set(key, [rollout]);
  }
  const batchOf = (rollout: number): number => columns.batch.codes.at(chains.first(rollout));
  return [...rollouts.values()].map((of) => courseOf(of, batchOf, rewardOf));
}

function courseOf(
  rollouts: readonly number[],
  batchOf: (rollout: number) => number,
  rewardOf: (rollout: number) => number,
): TaskCourse {
  const [first = 0] = rollouts;
  const meanIn = (batch: number): number => {
    const rewards = rollouts
      .filter((rollout) => batchOf(rollout) === batch)
      .map(rewardOf)
      .filter((reward) => !Number.isNaN(reward));
    return rewards.reduce((a, b) => a + b, 0) / rewards.length;
  };
  return {
    rollout: first,
    times: new Set(rollouts.map(batchOf)).size,
    first: meanIn(batchOf(first)),
    latest: meanIn(batchOf(rollouts.at(-1) ?? first)),
  };
}
