/** Entry point of the thread that tokenizes long texts. */
import { workerData } from 'node:worker_threads';
import { createTokenizer, type TokenizerFiles } from '@trinity-rft/chat';
import { toErrorRecord } from '@trinity-rft/core/store';
import { answerCalls, type ThreadTask } from '@trinity-rft/core/worker-link';
import type { EncoderMethods } from './thread.js';

const { port, data } = workerData as ThreadTask<TokenizerFiles>;
answerCalls<EncoderMethods>(
  port,
  () => {
    const tokenizer = createTokenizer(data);
    return { encode: (text) => tokenizer.encode(text) };
  },
  {
    toRecord: toErrorRecord,
    transfer: (ids) => [(ids as Int32Array<ArrayBuffer>).buffer],
  },
);
