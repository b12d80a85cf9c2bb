/**
 * The engine and the critic behind their protocols, without the time that a thread takes to start.
 */
import { MessageChannel } from 'node:worker_threads';

import { CancelledError, type Engine, type ValueEngine } from '@trinity-rft/core';

import { onnxCapabilities } from '../../src/capabilities.js';
import { completeCriticOptions, type OnnxCriticOptions } from '../../src/critic.js';
import { completeOptions, type OnnxEngineOptions } from '../../src/engine.js';
import { CriticCore } from '../../src/worker/critic-core.js';
import { connectCritic } from '../../src/client/remote-critic.js';
import type { EngineLink } from '../../src/protocol/client.js';
import { EngineCore } from '../../src/worker/engine-core.js';
import type { CallTable } from '../../src/protocol/engine-calls.js';
import { connectEngine } from '../../src/client/remote-engine.js';
import { serve, type Core } from '../../src/worker/serve.js';

/** As `createOnnxEngine`, in this thread, which every run of a graph blocks. */
export async function createEngineInThread(options: OnnxEngineOptions): Promise<Engine> {
  const { engine } = await connectEngine(
    (worker) => serveHere(EngineCore.open(worker)),
    completeOptions(options),
    onnxCapabilities,
  );
  return engine;
}

/** As `createOnnxCritic`, in this thread. */
export async function createCriticInThread(options: OnnxCriticOptions): Promise<ValueEngine> {
  return (
    await connectCritic(
      (worker) => serveHere(CriticCore.open(worker)),
      completeCriticOptions(options),
    )
  ).critic;
}

function serveHere<C extends CallTable<keyof C>>(opening: Promise<Core<C>>): EngineLink {
  const { port1, port2 } = new MessageChannel();
  serve(port2, opening);
  return {
    post: (message, transfer) => port1.postMessage(message, transfer),
    listen: ({ received }) => port1.on('message', received),
    close: async () => {
      port1.close();
      const core = await opening.catch(() => undefined);
      await core?.close(new CancelledError('The engine was closed.', { reason: 'shutdown' }));
    },
  };
}
