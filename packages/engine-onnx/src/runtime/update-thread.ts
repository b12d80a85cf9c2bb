/**
 * Entry point of the threads that compute a part of an update. Imports as little as possible,
 * because each thread loads this file.
 */
import { workerData } from 'node:worker_threads';
import { answerCalls, type ThreadTask } from '@trinity-rft/core/worker-link';
import { updateRange } from './update-range.js';
import type { UpdateMethods } from './update-threads.js';

const { port } = workerData as ThreadTask<undefined>;
answerCalls<UpdateMethods>(
  port,
  () => ({ update: ({ arrays, plan, range }) => updateRange(arrays, plan, range) }),
  { toRecord: String },
);
