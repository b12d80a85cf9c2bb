/** Sends weights from one thread of the engine to another. */
import type { MessagePort } from 'node:worker_threads';

import { EngineError } from '@trinity-rft/core';
import { reviveError, toErrorRecord, type ErrorRecord } from '@trinity-rft/core/store';

type WeightMessage = { readonly weights: Float32Array } | { readonly error: ErrorRecord };

/** Returns the result of `find`. If it throws, every port gets the error. */
export function orTell<T>(ports: readonly MessagePort[], find: () => T): T {
  try {
    return find();
  } catch (error) {
    tell(ports, error);
    throw error;
  }
}

/**
 * Sends a copy of the weights to every port, or the error that `find` throws. Returns the result of
 * `find`.
 * @throws the error of `find`
 */
export async function sendFound<T>(
  ports: readonly MessagePort[],
  find: () => Promise<T>,
  flatOf: (found: T) => Promise<Float32Array>,
): Promise<T> {
  try {
    const found = await find();
    if (ports.length > 0) sendWeights(ports, await flatOf(found));
    return found;
  } catch (error) {
    tell(ports, error);
    throw error;
  }
}

export function sendWeights(ports: readonly MessagePort[], flat: Float32Array): void {
  for (const port of ports) {
    const weights = flat.slice();
    port.postMessage({ weights } satisfies WeightMessage, [weights.buffer]);
  }
}

function tell(ports: readonly MessagePort[], error: unknown): void {
  for (const port of ports)
    port.postMessage({ error: toErrorRecord(error) } satisfies WeightMessage);
}

/** @throws EngineError when the sender has ended, or the error that the sender sent */
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
