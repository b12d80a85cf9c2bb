/** The `ValueEngine` interface over the calls of the protocol. */
import { CancelledError, EngineError, type ValueEngine } from '@trinity-rft/core';

import { EngineClient, type EngineLink } from '../protocol/client.js';
import { packBatch } from '../protocol/engine-calls.js';
import type { CriticCalls, CriticOptions } from '../protocol/critic-calls.js';

/**
 * Starts a thread and waits until it is ready.
 * @throws whatever opening the model threw there; the link is closed then
 */
export async function connectCritic(
  start: (options: CriticOptions) => EngineLink,
  options: CriticOptions,
): Promise<{ readonly critic: ValueEngine; readonly parameters: number }> {
  const client = new EngineClient<CriticCalls>(start(options));
  const close = (): Promise<void> =>
    client.close(
      new CancelledError('The critic was closed before this call was answered.', {
        code: 'ENGINE_CLOSED',
        reason: 'shutdown',
      }),
      new EngineError('The critic is closed; open another one for more calls.', {
        code: 'ENGINE_CLOSED',
      }),
    );
  try {
    const { parameters } = await client.call('open', {}).result;
    return { critic: criticOf(client, close), parameters };
  } catch (error) {
    await close();
    throw error;
  }
}

function criticOf(client: EngineClient<CriticCalls>, close: () => Promise<void>): ValueEngine {
  return {
    forward: async (batch) => ({
      batch,
      ...(await client.call('forward', { batch: packBatch(batch) }).result),
    }),
    backward: async ({ batch, offsets }, gradients) => {
      // Copies, because arrays that are sent are lost to the sender.
      const copies = { offsets: offsets.slice(), gradients: gradients.slice() };
      await client.call('backward', { batch: packBatch(batch), ...copies }).result;
    },
    step: (options) => client.call('step', options).result,
    save: async (directory, { optimizer }) => client.call('save', { directory, optimizer }).result,
    load: async (directory) => client.call('load', { directory }).result,
    stats: () => client.call('stats', {}).result,
    close,
  };
}
