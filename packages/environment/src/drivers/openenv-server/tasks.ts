/** Tasks that a server offers, by split and index. */
import {
  type Logger,
  type RawTask,
  type SplitName,
  TaskError,
  TrinityError,
  describeError,
} from '@trinity-rft/core';
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
  /** Maximum number of tasks for training; there are at most a tenth as many for evaluations. */
  readonly count: number;
  readonly seed: number;
  readonly logger: Logger;
}

/**
 * Draws the tasks of all splits, as many as there are up to the limit of each split. Blocks the
 * process meanwhile, because environments draw tasks synchronously. An error for the split "eval"
 * is logged, and the cause of a TaskError for requests for that split.
 * @throws the errors of the environment for the split "train"
 */
export function createTasks({ definition, args, count, seed, logger }: TasksOptions): Tasks {
  const rows = new Map<string, () => readonly RawTask[]>();
  let next = 0;
  const splits: readonly SplitName[] = definition.tasks === undefined ? [] : ['train', 'eval'];

  function drawn(split: SplitName, most: number): readonly RawTask[] {
    try {
      return definition.tasks?.({ split, count: most, seed }, args) ?? [];
    } catch (error) {
      if (!TrinityError.is(error) || error.code !== 'TASKS_TOO_FEW') throw error;
      const found = Number(error.details['found']);
      if (!(found > 0 && found < most)) throw error;
      return drawn(split, found);
    }
  }
  function draw(split: SplitName, most: number): void {
    const all = drawn(split, most);
    rows.set(split, () => all);
    if (all.length < most)
      logger.warn(
        `${definition.name} offers all tasks of split "${split}" that there are: ${all.length}.`,
      );
  }
  if (splits.length > 0) {
    draw('train', count);
    try {
      // One task in ten is for evaluations, so that a tenth as many take about as long to find.
      draw('eval', Math.ceil(count / 10));
    } catch (error) {
      const text = `${definition.name} offers no tasks of split "eval": ${describeError(error)}`;
      logger.warn(text);
      rows.set('eval', () => {
        throw new TaskError(text, { cause: error });
      });
    }
  }
  function rowsOf(name: string): readonly RawTask[] {
    const made = rows.get(name);
    if (made === undefined) throw new TaskError(noSplit(definition.name, name, splits));
    return made();
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

function noSplit(environment: string, name: string, splits: readonly string[]): string {
  return splits.length === 0
    ? `${environment} generates no tasks: send one as "task" with the reset, or {} and a seed if the seed makes it.`
    : `${environment} has no split "${name}", only ${splits.join(' and ')}.`;
}
