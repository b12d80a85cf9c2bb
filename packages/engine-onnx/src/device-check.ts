/** Entry point of the child process that checks a GPU. It handles one request. */
import { rmSync } from 'node:fs';

import { toErrorRecord } from '@trinity-rft/core/store';

import { checkDevice, type CheckRequest } from './device/check.js';
import type { CheckMessage } from './device/child.js';
import type { CheckKey } from './device/stored.js';
import { createOnnxEngine } from './engine.js';
import { checkGpu } from './gpu-module.js';

const send = (message: CheckMessage): void => void process.send?.(message);

const report = (line: string): void => send({ kind: 'line', line });

// A terminal or a service manager sends these signals to this process too. Only the parent process
// should end it.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {});
process.once('message', (request: CheckRequest) => void answer(request));

async function answer(request: CheckRequest): Promise<void> {
  // The parent process has ended, so it cannot remove the folder.
  process.on('disconnect', () => {
    rmSync(request.scratch, { recursive: true, force: true });
    process.kill(process.pid, 'SIGKILL');
  });
  try {
    const begins = (key: CheckKey): void => send({ kind: 'begins', key });
    const parts = { open: createOnnxEngine, checkModel: checkGpu, report, begins };
    send({ kind: 'done', report: await checkDevice(request, parts) });
  } catch (error) {
    send({ kind: 'failed', error: toErrorRecord(error) });
  }
}
