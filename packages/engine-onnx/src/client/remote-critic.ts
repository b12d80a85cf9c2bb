/** Implements the `ValueEngine` interface with calls to the critic's thread. */
import { CancelledError, EngineError } from '@trinity-rft/core';
import type { ValueEngine } from '@trinity-rft/core/engine';
import type { Link } from '@trinity-rft/core/worker-link';

import type { CriticMethods, CriticOptions } from '../protocol/critic-calls.js';
import { packBatch, transferables } from '../protocol/packing.js';

/**
 * Starts the critic's thread and waits until it has opened the model.
 * @throws the thread's error if the model cannot be opened; the link is then closed
 */
export async function connectCritic(
  start: (options: CriticOptions) => Link<CriticMethods>,
  options: CriticOptions,
): Promise<{ readonly critic: ValueEngine; readonly parameters: number }> {
  const link = start(options);
  try {
    const { parameters } = await link.call('open');
    return { critic: remoteCritic(link), parameters };
  } catch (error) {
    await closeCritic(link);
    throw error;
  }
}

function remoteCritic(link: Link<CriticMethods>): ValueEngine {
  return {
    forward: async (batch) => {
      const call = { batch: packBatch(batch) };
      return { batch, ...(await link.call('forward', call, { transfer: transferables(call) })) };
    },
    backward: async ({ batch, offsets }, gradients) => {
      // Copies, because the sender of a transferred array loses it.
      const call = {
        batch: packBatch(batch),
        offsets: offsets.slice(),
        gradients: gradients.slice(),
      };
      await link.call('backward', call, { transfer: transferables(call) });
    },
    step: (options) => link.call('step', options),
    save: (directory, { optimizer }) => link.call('save', { directory, optimizer }),
    load: (directory) => link.call('load', { directory }),
    stats: () => link.call('stats'),
    close: () => closeCritic(link),
  };
}

function closeCritic(link: Link<CriticMethods>): Promise<void> {
  return link.close(
    new CancelledError('The critic was closed before this call was answered.', {
      code: 'ENGINE_CLOSED',
      reason: 'shutdown',
    }),
    new EngineError('The critic is closed; open another one for more calls.', {
      code: 'ENGINE_CLOSED',
    }),
  );
}
