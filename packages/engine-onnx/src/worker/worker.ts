/** Entry of the worker thread. */
import { parentPort, workerData } from 'node:worker_threads';

import { InvariantError } from '@trinity-rft/core';

import type { WorkerOptions } from './protocol.js';
import { serveEngine } from './serve.js';

if (parentPort === null)
  throw new InvariantError('The worker of the embedded engine was loaded outside a worker thread; use createOnnxEngine.');
// A folder that cannot be opened is reported to the first call, not as a crash of the thread.
serveEngine(parentPort, workerData as WorkerOptions).catch(() => undefined);
