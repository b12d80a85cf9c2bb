/** Entry point of the worker thread that compares answers. */
import { workerData } from 'node:worker_threads';
import { toErrorRecord } from '@trinity-rft/core/store';
import { answerCalls, type ThreadTask } from '@trinity-rft/core/worker-link';
import { rules } from './rules.js';
import type { CompareMethods, CompareOptions } from './thread.js';

const { port, data } = workerData as ThreadTask<CompareOptions>;
answerCalls<CompareMethods>(
  port,
  () => ({
    ready: () => undefined,
    // May throw for deeply nested answers if the limit on their length was raised.
    compare: ({ rule, response, truth }) => rules[rule](response, truth, data.maxAnswerLength),
  }),
  { toRecord: toErrorRecord },
);
