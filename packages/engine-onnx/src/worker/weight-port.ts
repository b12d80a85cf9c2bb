/** Sends weights from one thread of the engine to another. */
import type { MessagePort } from 'node:worker_threads';

import {
  EngineError,
  reviveError,
  toErrorRecord,
  type ErrorRecord,
} from '@trinity-rft/core/internal';

type WeightMessage = { readonly weights: Float32Array } | { readonly error: ErrorRecord };

/**
 * Sends a copy of the weights that `find` returns to every port, or the error that it throws.
 * Returns what `find` returned.
 * @throws that error
 */
export function sendWeights<T extends { readonly flat: Float32Array }>(
  ports: readonly MessagePort[],
  find: () => T,
): T {
  try {
    const found = find();
    for (const port of ports) {
      const weights = found.flat.slice();
      port.postMessage({ weights } satisfies WeightMessage, [weights.buffer]);
    }
    return found;
  } catch (error) {
    for (const port of ports)
      port.postMessage({ error: toErrorRecord(error) } satisfies WeightMessage);
    throw error;
  }
}

/** As {@link sendWeights}, of weights that are read first. */
export async function sendFound(
  ports: readonly MessagePort[],
  read: () => Promise<Float32Array>,
): Promise<Float32Array> {
  const [outcome] = await Promise.allSettled([read()]);
  return sendWeights(ports, () => {
    if (outcome.status === 'rejected') throw outcome.reason;
    return { flat: outcome.value };
  }).flat;
}

/** @throws EngineError when the sender has ended, or what the sender failed with */
export async function receiveWeights(port: MessagePort): Promise<Float32Array> {
  const message = await new Promise<WeightMessage>((resolve, reject) => {
    port.once('message', resolve);
    port.once('close', () =>
      reject(
        new EngineError(
          'The thread that holds the weights ended before it sent them; open the engine again.',
        ),
      ),
    );
  });
  port.close();
  if ('error' in message) throw reviveError(message.error, EngineError);
  return message.weights;
}
