/** Entry point of the thread that parses large request bodies. */
import { workerData } from 'node:worker_threads';
import { toErrorRecord } from '@trinity-rft/core/store';
import { answerCalls, type ThreadTask } from '@trinity-rft/core/worker-link';
import { parseBody } from '../protocols/shared/request/body.js';
import type { BodyMethods } from './thread.js';

const { port } = workerData as ThreadTask<undefined>;
answerCalls<BodyMethods>(port, () => ({ parse: parseBody }), { toRecord: toErrorRecord });
