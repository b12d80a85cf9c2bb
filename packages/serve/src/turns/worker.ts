/** Entry point of the worker thread of a turn store. */
import { workerData } from 'node:worker_threads';
import { toErrorRecord } from '@trinity-rft/core/store';
import { answerCalls, type ThreadTask } from '@trinity-rft/core/worker-link';
import { openTurnDatabase, type TurnStoreOptions } from './sqlite.js';
import type { TurnMethods } from './thread.js';

const { port, data } = workerData as ThreadTask<TurnStoreOptions>;
answerCalls<TurnMethods>(
  port,
  () => {
    const database = openTurnDatabase(data);
    return { ...database, open: () => database.starts };
  },
  { toRecord: toErrorRecord },
);
