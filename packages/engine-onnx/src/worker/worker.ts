/** Entry of the worker threads. */
import { parentPort, workerData } from 'node:worker_threads';

import { InvariantError } from '@trinity-rft/core';

import { CriticCore } from './critic-core.js';
import type { CriticOptions } from '../protocol/critic-calls.js';
import { EngineCore } from './engine-core.js';
import type { WorkerOptions } from '../protocol/engine-calls.js';
import { serve } from './serve.js';

/** What a thread is started for. */
export type WorkerTask =
  | { readonly kind: 'engine'; readonly options: WorkerOptions }
  | { readonly kind: 'critic'; readonly options: CriticOptions };

if (parentPort === null)
  throw new InvariantError(
    'The worker of the embedded engine was loaded outside a worker thread; use createOnnxEngine or createOnnxCritic.',
  );
const task = workerData as WorkerTask;
if (task.kind === 'critic') serve(parentPort, CriticCore.open(task.options));
else serve(parentPort, EngineCore.open(task.options));
