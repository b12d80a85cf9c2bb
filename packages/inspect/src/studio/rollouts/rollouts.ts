/** The recorded experiences of a run: lists, single ones, conversations, groups, tasks over time. */
import { readExperiences, type ExperienceRow } from '@trinity-rft/buffer';
import { loadTokenizer } from '@trinity-rft/chat';
import { runKey } from '@trinity-rft/core';
import type {
  Conversation,
  Group,
  RolloutDetail,
  RolloutPage,
  TaskHistory,
  TaskPage,
} from '../interface/types.js';
import { conversationOf, rowsOfRun } from './conversation.js';
import { detailOf } from './detail.js';
import { logFailures } from './failures.js';
import { groupOf } from './group.js';
import { historyOf } from './history.js';
import { rolloutList } from './list.js';
import type { RowQuery, TaskQuery } from './query.js';
import { createRowIndex } from './row-index.js';
import type { RolloutStore } from './store.js';
import { taskList } from './tasks.js';
import { toolCallCounter } from './tool-calls.js';

/** Location of an experience store. */
export interface StorePlace {
  /** Path of the SQLite file. */
  readonly database: string;
  /** The model folder with the tokenizer of the records; without it, tokens are shown as ids. */
  readonly modelFolder?: string;
  /** The log of the run, in which failed runs are recorded. */
  readonly logFile: string;
}

/** A recorded model call. */
export type AttemptRow = ExperienceRow;

/** Answers about rollouts; undefined if there is no such row. */
export interface Rollouts {
  page(query: RowQuery): Promise<RolloutPage>;
  tasks(query: TaskQuery): Promise<TaskPage>;
  detail(id: number): Promise<RolloutDetail | undefined>;
  conversation(id: number): Promise<Conversation | undefined>;
  /** All model calls of the attempt to which row `id` belongs, in order. */
  attempt(id: number): Promise<readonly AttemptRow[] | undefined>;
  group(id: number): Promise<Group | undefined>;
  history(id: number): Promise<TaskHistory | undefined>;
  close(): void;
}

/**
 * Opens the store for reading. The tokenizer is read with the first request for rollouts.
 * @throws BufferError when the database cannot be read
 */
export function openRollouts({ database, modelFolder, logFile }: StorePlace): Rollouts {
  const reader = readExperiences(database);
  let loading: ReturnType<typeof loadTokenizer> | undefined;
  const tokenizer: RolloutStore['tokenizer'] = async () =>
    modelFolder === undefined ? undefined : (loading ??= loadTokenizer(modelFolder));
  let counter: ReturnType<typeof toolCallCounter> | undefined;
  const toolCalls: RolloutStore['toolCalls'] = async () =>
    (counter ??= toolCallCounter(await tokenizer()));
  const index = createRowIndex(reader, toolCalls);
  const store: RolloutStore = {
    reader,
    index,
    failures: logFailures(logFile),
    tokenizer,
    toolCalls,
  };
  const list = rolloutList(store);
  const tasks = taskList(store);
  return {
    page: (query) => list.page(query),
    tasks: (query) => tasks.page(query),
    detail: async (id) => {
      const row = reader.row(id);
      const parts = { uses: reader.uses(id), tokenizer: await tokenizer() };
      return row && detailOf(id, row.experience, parts);
    },
    conversation: (id) => conversationOf(id, store),
    attempt: async (id) => {
      const row = reader.row(id);
      return row && rowsOfRun(`${runKey(row.experience.eid)}/`, store);
    },
    group: (id) => groupOf(id, store),
    history: (id) => historyOf(id, store),
    close: () => {
      index.close();
      reader.close();
    },
  };
}
