/** Sends weights from one thread of the engine to another. */
import type { MessagePort } from 'node:worker_threads';

import { EngineError } from '@trinity-rft/core';
import { reviveError, toErrorRecord, type ErrorRecord } from '@trinity-rft/core/store';

import type { WeightLease } from '../model/weights.js';

type WeightMessage = { readonly weights: Float32Array } | { readonly error: ErrorRecord };

/**
 * Returns the result of `find`. If `find` throws, sends the error to every port.
 * @throws the error of `find`
 */
export function orTell<T>(ports: readonly MessagePort[], find: () => T): T {
  try {
    return find();
  } catch (error) {
    tell(ports, error);
    throw error;
  }
}

/**
 * Calls `find`, sends a copy of the weights that it returns to every port, and returns them. If
 * `find` throws, sends the error instead.
 * @throws the error of `find`
 */
export async function sendFound(
  ports: readonly MessagePort[],
  find: () => Promise<Float32Array>,
): Promise<Float32Array> {
  try {
    const found = await find();
    sendWeights(ports, found);
    return found;
  } catch (error) {
    tell(ports, error);
    throw error;
  }
}

/**
 * Does the same as {@link sendFound}, but for leased weights. If the weights cannot be sent,
 * releases the lease.
 * @param read reads the leased weights; called only if there are ports
 */
export async function sendLeased<Lease extends WeightLease>(
  ports: readonly MessagePort[],
  find: () => Promise<Lease>,
  read: (lease: Lease) => Promise<Float32Array>,
): Promise<Lease> {
  let lease: Lease | undefined;
  try {
    lease = await find();
    if (ports.length > 0) sendWeights(ports, await read(lease));
    return lease;
  } catch (error) {
    lease?.release();
    tell(ports, error);
    throw error;
  }
}

function sendWeights(ports: readonly MessagePort[], flat: Float32Array): void {
  for (const port of ports) {
    const weights = flat.slice();
    port.postMessage({ weights } satisfies WeightMessage, [weights.buffer]);
  }
}

function tell(ports: readonly MessagePort[], error: unknown): void {
  for (const port of ports)
    port.postMessage({ error: toErrorRecord(error) } satisfies WeightMessage);
}

/**
 * Receives weights and closes the port.
 * @throws EngineError when the sender has ended, or the error that the sender sent
 */
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
