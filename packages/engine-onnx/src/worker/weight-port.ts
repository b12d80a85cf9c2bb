/** Weights on their way from one thread of the engine to another. */
import type { MessagePort } from 'node:worker_threads';

import { EngineError, reviveError, toErrorRecord, type ErrorRecord } from '@trinity-rft/core';

type Parcel = { readonly weights: Float32Array } | { readonly error: ErrorRecord };

/**
 * Sends a copy of what `find` returns to every port, or the error that it throws.
 * @throws that error
 */
export function sendWeights(ports: readonly MessagePort[], find: () => Float32Array): void {
  try {
    const weights = find();
    for (const port of ports) {
      const copy = weights.slice();
      port.postMessage({ weights: copy } satisfies Parcel, [copy.buffer]);
    }
  } catch (error) {
    for (const port of ports) port.postMessage({ error: toErrorRecord(error) } satisfies Parcel);
    throw error;
  }
}

/** @throws EngineError when the sender is gone, or what the sender failed with */
export async function receiveWeights(port: MessagePort): Promise<Float32Array> {
  const parcel = await new Promise<Parcel>((resolve, reject) => {
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
  if ('error' in parcel) throw reviveError(parcel.error, EngineError);
  return parcel.weights;
}
