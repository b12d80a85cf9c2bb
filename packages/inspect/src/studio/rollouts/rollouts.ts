/** Opens the recorded experiences of a run. */
import { readExperiences, type ExperienceRow } from '@trinity-rft/buffer';
import { lazily } from '@trinity-rft/core/support';
import type {
  Conversation,
  Group,
  RolloutDetail,
  RolloutPage,
  TaskHistory,
  TaskPage,
  Trace,
} from '../interface/types.js';
import { conversationOf } from './conversation.js';
import { detailOf } from './detail.js';
import { logFailures } from './failures.js';
import { groupOf } from './group.js';
import { historyOf } from './history.js';
import { rolloutList } from './list.js';
import type { RolloutQuery, TaskQuery } from './query.js';
import { rewardParts } from './reward-parts.js';
import { rolloutCalls } from './rollout.js';
import { createRowIndex } from './row-index.js';
import type { RolloutStore } from './store.js';
import { taskList } from './tasks.js';
import { tokenizerIn } from './tokenizer.js';
import { noToolCalls, toolCallReader } from './tool-calls.js';
import { traceOf } from './trace.js';

/** Location of an experience store. */
export interface StorePlace {
  /** Path of the SQLite file. */
  readonly database: string;
  /**
   * Finds the model folder with the tokenizer of the records. Tokens are shown as ids while there is
   * none: a run may write the tokenizer with its first checkpoint.
   */
  readonly modelFolder: () => Promise<string | undefined>;
  /** Path of the training run's log, which records failed rollouts. */
  readonly logFile: string;
}

/** Row of the store: one model call, or several merged calls. */
export type AttemptRow = ExperienceRow;

/** Queries of rollouts. Results by `id` are undefined if there is no such row. */
export interface Rollouts {
  page(query: RolloutQuery): Promise<RolloutPage>;
  tasks(query: TaskQuery): Promise<TaskPage>;
  detail(id: number): Promise<RolloutDetail | undefined>;
  trace(id: number): Promise<Trace | undefined>;
  conversation(id: number): Promise<Conversation | undefined>;
  /** All model calls of the attempt to which row `id` belongs, in order. */
  attempt(id: number): Promise<readonly AttemptRow[] | undefined>;
  group(id: number): Promise<Group | undefined>;
  history(id: number): Promise<TaskHistory | undefined>;
  close(): void;
}

/**
 * Opens the store for reading. The first request for rollouts loads the tokenizer; if there is none
 * yet, later requests try again.
 * @throws BufferError when the database cannot be read
 */
export function openRollouts({ database, modelFolder, logFile }: StorePlace): Rollouts {
  const reader = readExperiences(database);
  const tokenizer = tokenizerIn(modelFolder);
  const toolReader = lazily(async () => toolCallReader(await tokenizer()));
  const toolCalls: RolloutStore['toolCalls'] = async () =>
    (await tokenizer()) === undefined ? noToolCalls : toolReader.get();
  const index = createRowIndex(reader, toolCalls);
  const store: RolloutStore = {
    reader,
    index,
    failures: logFailures(logFile),
    tokenizer,
    toolCalls,
    rewardParts: rewardParts(reader),
  };
  const list = rolloutList(store);
  const tasks = taskList(store);
  return {
    page: (query) => list.page(query),
    tasks: (query) => tasks.page(query),
    detail: async (id) => {
      const row = reader.row(id);
      return row && detailOf(id, row.experience, reader.uses(id));
    },
    conversation: (id) => conversationOf(id, store),
    trace: (id) => traceOf(id, store),
    attempt: async (id) => (await rolloutCalls(id, store))?.map(({ row }) => row),
    group: (id) => groupOf(id, store),
    history: (id) => historyOf(id, store),
    close: () => {
      index.close();
      reader.close();
    },
  };
}
