/**
 * Index for filtering and sorting all experiences in a store, at about 70 bytes each, so that a
 * million fit. It grows while a run adds more.
 */
import type { ExperienceHead, ExperienceReader, ExperienceUse } from '@trinity-rft/buffer';
import { BufferError } from '@trinity-rft/core';
import { doubles, floats, integers, smallIntegers, textColumn } from './columns.js';
import { summaryOf } from './head.js';
import type { ToolCallCounter } from './tool-calls.js';

const none = -1;

export type RowColumns = ReturnType<typeof createColumns>;

function createColumns() {
  return {
    id: integers(),
    batch: textColumn(),
    task: textColumn(),
    run: smallIntegers(),
    step: smallIntegers(),
    reward: doubles(),
    advantage: floats(),
    policyVersion: integers(),
    promptTokens: integers(),
    responseTokens: integers(),
    toolCalls: smallIntegers(),
    problem: textColumn(),
    taskset: textColumn(),
    row: integers(),
    /** -1 if no train step has used the row. */
    trainStep: integers(),
    dropped: smallIntegers(),
  };
}

export interface RowIndex {
  readonly columns: RowColumns;
  /** Number of rows in the index. */
  size(): number;
  /** Reads until all rows are in the index; concurrent callers share the work. */
  catchUp(): Promise<void>;
  /** Stops reading that is in progress. */
  close(): void;
}

/**
 * Number of rows that are read at once. They take a few milliseconds each, so that other requests
 * run in between.
 */
const chunkSize = 32;
const usesAtOnce = 512;

export function createRowIndex(
  reader: ExperienceReader,
  countToolCalls: () => Promise<ToolCallCounter>,
): RowIndex {
  const columns = createColumns();
  let size = 0;
  let reading: Promise<void> | undefined;
  let usePlace = 0;
  let isClosed = false;

  const positionOf = (id: number): number | undefined => findId(columns, size, id);

  const pause = async (): Promise<void> => {
    await new Promise((resolve) => setImmediate(resolve));
    if (isClosed) throw closedError();
  };

  const catchUp = async (): Promise<void> => {
    const toolCalls = await countToolCalls();
    for (;;) {
      const last = size === 0 ? 0 : columns.id.at(size - 1);
      const heads = reader.headsAfter(last, chunkSize);
      for (const head of heads) push(columns, head, toolCalls(head));
      size += heads.length;
      if (heads.length < chunkSize) break;
      await pause();
    }
    for (;;) {
      const uses = reader.usesAfter(usePlace, usesAtOnce);
      for (const use of uses) note(columns, positionOf(use.id), use);
      usePlace = uses.at(-1)?.place ?? usePlace;
      if (uses.length < usesAtOnce) break;
      await pause();
    }
  };

  return {
    columns,
    size: () => size,
    catchUp: () => (reading ??= catchUp().finally(() => (reading = undefined))),
    close: () => {
      isClosed = true;
    },
  };
}

const closedError = (): BufferError =>
  new BufferError('The experience store was closed while it was read. Ask again.', {
    code: 'BUFFER_CLOSED',
  });

/** Stores the result of a train step; a later step overwrites that of an earlier one. */
function note(columns: RowColumns, position: number | undefined, use: ExperienceUse): void {
  if (position === undefined) return;
  columns.trainStep.set(position, use.trainStep);
  columns.dropped.set(position, Number(use.dropped));
  if (use.advantage !== undefined) columns.advantage.set(position, use.advantage);
}

function push(columns: RowColumns, head: ExperienceHead, toolCalls: number): void {
  const summary = summaryOf(head, toolCalls);
  columns.id.push(head.id);
  columns.batch.push(summary.batch);
  columns.task.push(summary.task);
  columns.run.push(summary.run);
  columns.step.push(summary.step);
  columns.reward.push(summary.reward ?? Number.NaN);
  columns.advantage.push(summary.advantage ?? Number.NaN);
  columns.policyVersion.push(summary.policyVersion);
  columns.promptTokens.push(summary.promptTokens);
  columns.responseTokens.push(summary.responseTokens);
  columns.toolCalls.push(toolCalls);
  columns.problem.push(summary.problem);
  columns.taskset.push(summary.taskset);
  columns.row.push(summary.row ?? none);
  columns.trainStep.push(none);
  columns.dropped.push(0);
}

/** Position of an id. Ids increase; without gaps, the position follows from the id. */
function findId({ id: ids }: RowColumns, size: number, id: number): number | undefined {
  const guess = id - (size === 0 ? 0 : ids.at(0));
  if (guess >= 0 && guess < size && ids.at(guess) === id) return guess;
  let [low, high] = [0, size - 1];
  while (low <= high) {
    const middle = (low + high) >> 1;
    const found = ids.at(middle);
    if (found === id) return middle;
    if (found < id) low = middle + 1;
    else high = middle - 1;
  }
  return undefined;
}

/** Train steps between the version that sampled a row and the step that used it. */
export function stalenessOf(policyVersion: number, trainStep: number): number | undefined {
  // The weights of version v are those after train step v.
  return policyVersion < 0 || trainStep < 0
    ? undefined
    : Math.max(0, trainStep - 1 - policyVersion);
}
