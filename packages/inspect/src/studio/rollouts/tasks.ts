/** Tasks on which a run has improved, and those on which it has not. */
import type { TaskPage } from '../interface/types.js';
import { within } from '../shared/within.js';
import { headOf } from './head.js';
import type { TaskQuery, TaskSortKey } from './query.js';
import type { RowColumns } from './row-index.js';
import type { RolloutStore } from './store.js';
import { questionOf } from './texts.js';

/** Time in ms that a request waits for the index before it answers with partial results. */
const waitMs = 250;
/** Pause between making two lists, as a multiple of the time that making one takes. */
const pauses = 20;

/** One row of a task set, with its first and its latest explore step. */
interface TaskCourse {
  /** Position of a record in the index, which has the question. */
  readonly position: number;
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
  /** Number of rows in the index when the courses were computed. */
  readonly size: number;
  /** Time until which later rows are not included. */
  readonly until: number;
}

export function taskList(store: RolloutStore): TaskList {
  let known: Known = { courses: [], size: 0, until: 0 };
  const look = (): Known => {
    const size = store.index.size();
    const start = performance.now();
    if (size === known.size || start < known.until) return known;
    const courses = coursesOf(store.index.columns, size);
    const end = performance.now();
    known = { courses, size, until: end + pauses * (end - start) };
    return known;
  };
  return {
    page: async ({ sort, descending, page, size }) => {
      await within(waitMs, store.index.catchUp());
      const { courses, size: done } = look();
      const shown = courses.toSorted(by(sort, descending)).slice(page * size, (page + 1) * size);
      const of = store.reader.count();
      return {
        rows: await Promise.all(shown.map(async (course) => rowOf(course, store))),
        ...countsOf(courses),
        progress: done < of ? { done, of } : undefined,
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
  const id = index.columns.id.at(course.position);
  const experience = reader.row(id)?.experience;
  return {
    id,
    ...(experience && placeOf(id, experience)),
    question: experience ? questionOf(experience, await store.tokenizer()) : '',
    times: course.times,
    first: known(course.first),
    latest: known(course.latest),
    change: known(changeOf(course)),
  };
}

const placeOf = (...of: Parameters<typeof headOf>) => {
  const { taskset, row } = headOf(...of);
  return { taskset, row };
};

const known = (value: number): number | undefined => (Number.isNaN(value) ? undefined : value);

const readers: Readonly<Record<TaskSortKey, (course: TaskCourse) => number>> = {
  change: changeOf,
  first: ({ first }) => first,
  latest: ({ latest }) => latest,
  times: ({ times }) => times,
};

/** Hardest first; those without a reward are last. */
const byReward = (a: TaskCourse, b: TaskCourse): number =>
  (known(a.latest) ?? Infinity) - (known(b.latest) ?? Infinity);

/** Tasks without the number come last, and of equal ones the hardest first. */
function by(sort: TaskSortKey, descending: boolean): (a: TaskCourse, b: TaskCourse) => number {
  const read = readers[sort];
  const missing = descending ? -Infinity : Infinity;
  const value = (course: TaskCourse): number => known(read(course)) ?? missing;
  return (a, b) => {
    const order = value(a) - value(b);
    return (descending ? -order : order) || byReward(a, b) || a.position - b.position;
  };
}

function coursesOf(columns: RowColumns, size: number): readonly TaskCourse[] {
  const positions = new Map<number, number[]>();
  for (let position = 0; position < size; position++) {
    const row = columns.row.at(position);
    if (row < 0) continue;
    // Rows have 31 bits.
    const key = columns.taskset.codes.at(position) * 2 ** 31 + row;
    const before = positions.get(key);
    if (before) before.push(position);
    else positions.set(key, [position]);
  }
  return [...positions.values()].map((of) => courseOf(columns, of));
}

function courseOf(columns: RowColumns, positions: readonly number[]): TaskCourse {
  const { codes } = columns.batch;
  const [first, latest] = [codes.at(positions[0] ?? 0), codes.at(positions.at(-1) ?? 0)];
  return {
    position: positions[0] ?? 0,
    times: new Set(positions.map((position) => codes.at(position))).size,
    first: meanReward(columns, positions, first),
    latest: meanReward(columns, positions, latest),
  };
}

/** Mean reward of the last call of each attempt in an explore step. */
function meanReward(columns: RowColumns, positions: readonly number[], batch: number): number {
  const last = new Map<string, number>();
  for (const position of positions) {
    if (columns.batch.codes.at(position) !== batch) continue;
    // A step may have the same row as two tasks.
    const attempt = `${columns.task.codes.at(position)} ${columns.run.at(position)}`;
    const before = last.get(attempt);
    if (before === undefined || columns.step.at(position) > columns.step.at(before))
      last.set(attempt, position);
  }
  const rewards = [...last.values()]
    .map((position) => columns.reward.at(position))
    .filter((reward) => !Number.isNaN(reward));
  return rewards.reduce((a, b) => a + b, 0) / rewards.length;
}
