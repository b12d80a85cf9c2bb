/**
 * In-memory index for filtering and sorting all rollouts of a store, with 60 to 100 bytes per model
 * call. The index grows with the run. Names of calls are read first, because they determine the
 * rollouts; numbers are read when a request needs them.
 */
import type { ExperienceReader, ExperienceUse } from '@trinity-rft/buffer';
import { BufferError, type Eid } from '@trinity-rft/core';
import { decodeFields } from '@trinity-rft/core/store';
import { floats, integers, largeIntegers, smallIntegers, textColumn } from './columns.js';
import { callOf, type Call } from './head.js';
import { createRolloutChains, type RolloutChains } from './rollout-chains.js';
import type { ToolCallReader } from './tool-calls.js';

const none = -1;
/** Placeholder for a time that was not recorded. */
export const noTime = -(2 ** 31);

export type CallColumns = ReturnType<typeof createColumns>;

function createColumns() {
  return {
    id: integers(),
    batch: textColumn(),
    task: textColumn(),
    /** A client of a served run may name its runs by any number, such as a time. */
    run: largeIntegers(),
    /** Index of the call in its rollout. */
    step: smallIntegers(),
    /** 1 if the row was deleted from the store, otherwise 0. */
    gone: smallIntegers(),
    reward: floats(),
    advantage: floats(),
    policyVersion: integers(),
    promptTokens: integers(),
    responseTokens: integers(),
    /** Number of model calls in the row. */
    turns: smallIntegers(),
    toolCalls: smallIntegers(),
    /** Names of the called tools, one per line. */
    tools: textColumn(),
    /**
     * Start and end of the row's model calls, in hundredths of a second since the first recorded
     * call.
     */
    start: integers(noTime),
    end: integers(noTime),
    problem: textColumn(),
    taskset: textColumn(),
    /** Row of the task in its task set; -1 if unknown. */
    row: integers(none),
    /** Latest train step that used the row; -1 if there is none. */
    trainStep: integers(none),
    dropped: smallIntegers(),
  };
}

export interface RowIndex {
  readonly columns: CallColumns;
  readonly chains: RolloutChains;
  /** Number of calls whose names were read. */
  size(): number;
  /** Number of calls of which all columns were read. */
  detailed(): number;
  /**
   * Returns a counter that increases whenever calls that are in the index change or are deleted.
   */
  revision(): number;
  /**
   * Returns the progress of reading all fields. `done` is the number of calls in the store of which
   * all fields were read; `of` is the argument.
   */
  progress(of: number): { readonly done: number; readonly of: number };
  /** Reads the names of all rows; concurrent callers share the work. */
  catchUpNames(): Promise<void>;
  /** Reads until all rows are in the index; concurrent callers share the work. */
  catchUp(): Promise<void>;
  /** Cancels reads in progress. */
  close(): void;
}

/**
 * Number of rows per read: for names, for fields of whole records, and for uses by train steps. A
 * read takes only a few milliseconds; other requests can run between reads.
 */
const [namesAtOnce, recordsAtOnce, usesAtOnce] = [2000, 32, 512];

export function createRowIndex(
  reader: ExperienceReader,
  toolCallReader: () => Promise<ToolCallReader>,
): RowIndex {
  const columns = createColumns();
  const chains = createRolloutChains(columns);
  let [size, detailed, gone, usePlace, revision] = [0, 0, 0, 0, 0];
  let usedReader: ToolCallReader | undefined;
  let firstStart: number | undefined;
  let naming: Promise<void> | undefined;
  let reading: Promise<void> | undefined;
  let isClosed = false;

  const positionOf = (id: number): number | undefined => findId(columns, size, id);
  const lastId = (count: number): number => (count === 0 ? 0 : columns.id.at(count - 1));

  const pause = async (): Promise<void> => {
    await new Promise((resolve) => setImmediate(resolve));
    if (isClosed) throw closedError();
  };

  const readNames = async (): Promise<void> => {
    let records = 0;
    for (;;) {
      const names = reader.namesAfter(lastId(size), namesAtOnce);
      for (const { id, uid } of names) {
        const parts = uid.split('/');
        const hasSlash = parts.length > 5;
        columns.id.set(size, id);
        setName(columns, size, parts, hasSlash ? storedEid(reader.bytesOf(id)) : undefined);
        chains.add(size++);
        if (hasSlash && ++records % recordsAtOnce === 0) await pause();
      }
      if (names.length < namesAtOnce) break;
      await pause();
    }
    await markGone();
  };

  /**
   * Marks rows that were deleted from the store. The store deletes the oldest rows first, so
   * checking stops once all deletions are found.
   */
  const markGone = async (): Promise<void> => {
    let position = 0;
    while (position < size && reader.count() < size - gone) {
      const names = reader.namesAfter(columns.id.at(position) - 1, namesAtOnce);
      const kept = new Set(names.map(({ id }) => id));
      const last = names.length < namesAtOnce ? Infinity : (names.at(-1)?.id ?? Infinity);
      for (; position < size && columns.id.at(position) <= last; position++) {
        if (columns.gone.at(position) === 1 || kept.has(columns.id.at(position))) continue;
        chains.remove(position);
        gone++;
        revision++;
      }
      await pause();
    }
  };

  const readDetails = async (): Promise<void> => {
    const toolCalls = await toolCallReader();
    // Reads all calls again once there is a tokenizer, which finds their tool calls.
    if (toolCalls !== usedReader) [detailed, usePlace, revision] = [0, 0, revision + 1];
    usedReader = toolCalls;
    while (detailed < size) {
      const heads = reader.headsAfter(lastId(detailed), recordsAtOnce);
      for (const head of heads) {
        const position = positionOf(head.id);
        if (position === undefined) continue;
        const call = callOf(head, toolCalls);
        setDetails(columns, position, call);
        firstStart ??= call.times?.at(0)?.start;
        setTimes(columns, position, call, firstStart ?? 0);
      }
      const last = positionOf(heads.at(-1)?.id ?? none) ?? size - 1;
      detailed = heads.length < recordsAtOnce ? size : last + 1;
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

  const catchUpNames = (): Promise<void> =>
    (naming ??= readNames().finally(() => (naming = undefined)));
  return {
    columns,
    chains,
    size: () => size,
    detailed: () => detailed,
    revision: () => revision,
    // Rows are deleted oldest first, so deleted rows are among those that were read.
    progress: (of) => ({ done: Math.max(0, Math.min(detailed - gone, of)), of }),
    catchUpNames,
    catchUp: () =>
      (reading ??= catchUpNames()
        .then(readDetails)
        .finally(() => (reading = undefined))),
    close: () => {
      isClosed = true;
    },
  };
}

const closedError = (): BufferError =>
  new BufferError('The experience store was closed while it was read. Ask again.', {
    code: 'BUFFER_CLOSED',
  });

/**
 * Stores in the columns how a train step used a row, in place of an earlier use. If this step
 * computed no advantage, the earlier advantage stays.
 */
function note(columns: CallColumns, position: number | undefined, use: ExperienceUse): void {
  if (position === undefined) return;
  columns.trainStep.set(position, use.trainStep);
  columns.dropped.set(position, Number(use.dropped));
  if (use.advantage !== undefined) columns.advantage.set(position, use.advantage);
}

const eidOnly = new Set(['eid']);

/**
 * Returns the eid in a stored record, or undefined if the record was deleted or is damaged: one
 * such record must not keep the others from being listed.
 */
function storedEid(bytes: Uint8Array | undefined): Eid | undefined {
  try {
    return bytes && (decodeFields(bytes, eidOnly)['eid'] as Eid | undefined);
  } catch {
    return undefined;
  }
}

/**
 * Stores the parts of a uid in the columns. A uid is `batch/task/run/step/suffix`. The batch of an
 * evaluation and the task id of a served run may contain slashes: then only the stored eid
 * separates them. Without it, the batch is taken to be that of an evaluation.
 */
function setName(
  columns: CallColumns,
  position: number,
  parts: readonly string[],
  stored: Eid | undefined,
): void {
  const [run, step] = parts.slice(-3);
  columns.batch.set(position, String(stored?.batch ?? parts.slice(0, -4).join('/')));
  columns.task.set(position, String(stored?.task ?? parts.at(-4)));
  columns.run.set(position, Number(run));
  columns.step.set(position, Number(step));
}

/** Step of a batch: 12 for the batch `12`, the evaluation `12/set` and the commit `c12`. */
export function stepOfBatch(batch: string): number | undefined {
  const step = Number.parseInt(batch.replace(/^c/, ''), 10);
  return Number.isNaN(step) ? undefined : step;
}

function setDetails(columns: CallColumns, position: number, call: Call): void {
  columns.reward.set(position, call.reward ?? Number.NaN);
  columns.advantage.set(position, call.advantage ?? Number.NaN);
  columns.policyVersion.set(position, call.policyVersion);
  columns.promptTokens.set(position, call.promptTokens);
  columns.responseTokens.set(position, call.responseTokens);
  columns.turns.set(position, call.turns);
  columns.toolCalls.set(position, call.tools.length);
  const names = new Set(call.tools.flatMap(({ name }) => name ?? []));
  columns.tools.set(position, names.size === 0 ? undefined : [...names].toSorted().join('\n'));
  columns.problem.set(position, call.problem);
  columns.taskset.set(position, call.taskset);
  columns.row.set(position, call.row ?? none);
}

/** Units of time columns per millisecond. */
const perMs = 0.1;
/** Converts a duration from units of time columns to seconds. */
export const secondsIn = (duration: number): number => duration / perMs / 1000;

function setTimes(columns: CallColumns, position: number, { times }: Call, origin: number): void {
  const [first, last] = [times?.at(0), times?.at(-1)];
  if (!first || !last) return;
  columns.start.set(position, Math.round((first.start - origin) * perMs));
  columns.end.set(position, Math.round((last.end - origin) * perMs));
}

/**
 * Returns the position of the row with this id, or undefined if there is none. Ids are in ascending
 * order. If no id is missing, the position follows from the id; otherwise a binary search finds it.
 */
function findId({ id: ids }: CallColumns, size: number, id: number): number | undefined {
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
