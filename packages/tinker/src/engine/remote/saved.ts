/** Looks up and deletes weights saved on the server. */
import {
  formatTinkerPath,
  paths,
  weightsInfoAnswer,
  type TinkerPath,
} from '../../protocol/index.js';
import { EngineError, type Logger } from '@trinity-rft/core';
import type { Calls } from './calls.js';
import type { Connection } from '../http/connection.js';

export interface RemoveOptions {
  readonly connection: Connection;
  readonly logger: Logger;
}

/**
 * Checks whether the server has saved weights. Returns the error status, or undefined if the server
 * has the weights. The request is not retried, because TuFT returns 500 for unknown weights.
 */
export async function statusOf(calls: Calls, address: string): Promise<number | undefined> {
  const options = { what: `find ${address}`, patienceMs: 0 };
  try {
    await calls.ask('weights_info', { tinker_path: address }, weightsInfoAnswer, options);
    return undefined;
  } catch (error) {
    const status = statusIn(error);
    if (status === undefined) throw error;
    return status;
  }
}

/** Returns the status that the server answered; undefined if it did not answer. */
function statusIn(error: unknown): number | undefined {
  const { status } = EngineError.is(error) ? error.details : {};
  return typeof status === 'number' ? status : undefined;
}

/** Maximum time for retries of a deletion, and for each of them, in ms. Training waits for it. */
const removeMs = 15_000;

/**
 * Deletes saved weights that are no longer needed, unless the server has already forgotten them.
 * Failures are logged.
 */
export async function removeSaved(
  { connection, logger }: RemoveOptions,
  saved: TinkerPath,
): Promise<void> {
  const address = formatTinkerPath(saved);
  const path = paths.checkpoint(saved.modelId, `${saved.kind}/${saved.name}`);
  try {
    const what = `delete ${address}`;
    const limits = { patienceMs: removeMs, timeoutMs: removeMs };
    await connection.send({ method: 'DELETE', path, what, ...limits });
  } catch (error) {
    const status = statusIn(error);
    if (status === 404 || status === 410) return;
    const reason = status === undefined ? 'it cannot be reached' : `it answered ${status}`;
    logger.warn(`${address} stays on the Tinker server: ${reason} when asked to delete it.`);
  }
}
