/** Entry point of the worker threads. */
import { workerData } from 'node:worker_threads';

import { toErrorRecord } from '@trinity-rft/core/store';
import { answerCalls, type AnswerOptions, type ThreadTask } from '@trinity-rft/core/worker-link';

import type { CriticMethods, CriticOptions } from '../protocol/critic-calls.js';
import type { EngineMethods } from '../protocol/engine-calls.js';
import type { WorkerOptions } from '../protocol/options.js';
import { transferables } from '../protocol/packing.js';
import { useGate, type GateState } from '../runtime/native-gate.js';
import { CriticCore } from './critic-core.js';
import { EngineCore } from './engine-core.js';

/** Task of a worker thread: an engine or a critic, with its options. */
export type WorkerTask =
  | { readonly kind: 'engine'; readonly options: WorkerOptions }
  | { readonly kind: 'critic'; readonly options: CriticOptions };

export type GatedTask = WorkerTask & { readonly gate: GateState };

const options: AnswerOptions = { toRecord: toErrorRecord, transfer: transferables };
const { port, data: task } = workerData as ThreadTask<GatedTask>;
useGate(task.gate);
if (task.kind === 'critic')
  answerCalls<CriticMethods>(
    port,
    async () => (await CriticCore.open(task.options)).handlers,
    options,
  );
else
  answerCalls<EngineMethods>(
    port,
    async () => (await EngineCore.open(task.options)).handlers,
    options,
  );
