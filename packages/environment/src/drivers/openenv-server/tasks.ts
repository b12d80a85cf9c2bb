/** Tasks that a server offers, by split and index. */
import { type RawTask, type SplitName, TaskError, TrinityError } from '@trinity-rft/core';
import type { EnvironmentDefinition } from '../../seam/define.js';

export interface Tasks {
  readonly splits: readonly SplitName[];
  /** Returns the number of rows of a split. @throws TaskError for an unknown split */
  size(split: string): number;
  /**
   * Returns a row of a split.
   * @throws TaskError for an unknown split or index
   */
  row(split: string, index: number): RawTask;
  /**
   * Returns the index of a row for a reset without an index: the seed of the reset or, without a
   * seed, a running count, modulo the number of rows.
   */
  place(split: string, seed: number | undefined): number;
}

export interface TasksOptions {
  readonly definition: EnvironmentDefinition;
  readonly args: Readonly<Record<string, unknown>>;
  /** Number of tasks in each split. @default 1000, or as many as there are */
  readonly count?: number;
  readonly seed: number;
}

export function createTasks({ definition, args, count, seed }: TasksOptions): Tasks {
  const rows = new Map<string, readonly RawTask[]>();
  let next = 0;
  const splits: readonly SplitName[] = definition.tasks === undefined ? [] : ['train', 'eval'];

  function drawn(split: SplitName, most = count ?? 1000): readonly RawTask[] | undefined {
    try {
      return definition.tasks?.({ split, count: most, seed }, args);
    } catch (error) {
      if (!TrinityError.is(error) || error.code !== 'TASKS_TOO_FEW') throw error;
      const found = Number(error.details['found']);
      if (count === undefined && found < most) return found > 0 ? drawn(split, found) : [];
      throw count === undefined ? error : tooFew(definition.name, count, error);
    }
  }
  function rowsOf(name: string): readonly RawTask[] {
    const split = splits.find((known) => known === name);
    const made = rows.get(name) ?? (split && drawn(split));
    if (made === undefined) throw new TaskError(noSplit(definition.name, name, splits));
    rows.set(name, made);
    return made;
  }

  return {
    splits,
    size: (split) => rowsOf(split).length,
    row: (split, index) => {
      const all = rowsOf(split);
      const row = all[index];
      if (row !== undefined) return row;
      throw new TaskError(
        `Split "${split}" has ${all.length} tasks, so there is no index ${index}.`,
      );
    },
    place: (split, from) => (from ?? next++) % Math.max(1, rowsOf(split).length),
  };
}

const tooFew = (environment: string, count: number, cause: TrinityError) =>
  new TaskError(
    `The server of ${environment} was told to offer ${count} tasks (--tasks): ${cause.message} Without it, the server offers as many as there are.`,
    { code: cause.code, cause },
  );

function noSplit(environment: string, name: string, splits: readonly string[]): string {
  return splits.length === 0
    ? `${environment} generates no tasks: send one as "task" with the reset.`
    : `${environment} has no split "${name}", only ${splits.join(' and ')}.`;
}
