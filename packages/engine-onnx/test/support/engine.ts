/**
 * The engine and the critic behind their protocols, without the time that a thread takes to start.
 */
import { MessageChannel } from 'node:worker_threads';

import { CancelledError, EngineError } from '@trinity-rft/core';
import type { Engine, ValueEngine } from '@trinity-rft/core/engine';
import { reviveError, toErrorRecord, type ErrorRecord } from '@trinity-rft/core/store';
import { answerCalls, Link, type Handlers, type MethodTable } from '@trinity-rft/core/worker-link';

import { onnxCapabilities } from '../../src/capabilities.js';
import { completeCriticOptions, type OnnxCriticOptions } from '../../src/critic.js';
import { completeOptions, type OnnxEngineOptions } from '../../src/protocol/options.js';
import { CriticCore } from '../../src/worker/critic-core.js';
import { connectCritic } from '../../src/client/remote-critic.js';
import { EngineCore } from '../../src/worker/engine-core.js';
import { transferables } from '../../src/protocol/packing.js';
import { connectEngine } from '../../src/client/remote-engine.js';

/** Like `createOnnxEngine`, but in this thread, which every run of a graph blocks. */
export async function createEngineInThread(options: OnnxEngineOptions): Promise<Engine> {
  const { engine } = await connectEngine(
    (worker) => linkHere(EngineCore.open(worker)),
    completeOptions(options),
    onnxCapabilities,
  );
  return engine;
}

/** Like `createOnnxCritic`, but in this thread. */
export async function createCriticInThread(options: OnnxCriticOptions): Promise<ValueEngine> {
  return (
    await connectCritic(
      (worker) => linkHere(CriticCore.open(worker)),
      completeCriticOptions(options),
    )
  ).critic;
}

/** A link to a core in this thread. */
function linkHere<M extends MethodTable<keyof M>>(
  opening: Promise<{
    readonly handlers: Handlers<M>;
    close(error: CancelledError): Promise<void>;
  }>,
): Link<M> {
  const { port1, port2 } = new MessageChannel();
  const options = { toRecord: toErrorRecord, transfer: transferables };
  answerCalls<M>(port2, async () => (await opening).handlers, options);
  return new Link<M>(port1, {
    toError: (record: ErrorRecord) => reviveError(record, EngineError),
    terminate: async () => {
      const core = await opening.catch(() => undefined);
      await core?.close(new CancelledError('The engine was closed.', { reason: 'shutdown' }));
    },
  });
}
