/** The engine behind its protocol, without the time that a thread takes to start. */
import { MessageChannel } from 'node:worker_threads';

import { CancelledError, type Engine } from '@trinity-rft/core';

import { completeOptions, type OnnxEngineOptions } from '../../src/engine.js';
import type { EngineLink } from '../../src/worker/client.js';
import type { WorkerOptions } from '../../src/worker/protocol.js';
import { connectEngine } from '../../src/worker/remote-engine.js';
import { serveEngine } from '../../src/worker/serve.js';

/** As `createOnnxEngine`, in this thread, which every run of a graph blocks. */
export async function createEngineInThread(options: OnnxEngineOptions): Promise<Engine> {
  return (await connectEngine(serveHere, completeOptions(options))).engine;
}

function serveHere(options: WorkerOptions): EngineLink {
  const { port1, port2 } = new MessageChannel();
  const serving = serveEngine(port2, options);
  return {
    post: (message, transfer) => port1.postMessage(message, transfer),
    listen: ({ received }) => port1.on('message', received),
    close: async () => {
      port1.close();
      const core = await serving.catch(() => undefined);
      await core?.close(new CancelledError('The engine was closed.', { reason: 'shutdown' }));
    },
  };
}
