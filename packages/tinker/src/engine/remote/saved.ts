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

/** Statuses with which servers report unknown weights. TuFT's is 500. */
const unknownStatuses: readonly unknown[] = [404, 410, 500];

/**
 * Checks whether the server has saved weights at `address`. Returns undefined if so, otherwise the
 * status with which it reports that it does not.
 * @throws EngineError if the server does not say
 */
export async function statusOf(calls: Calls, address: string): Promise<number | undefined> {
  const options = { what: `find ${address}`, finalStatus: 500 };
  try {
    await calls.ask('weights_info', { tinker_path: address }, weightsInfoAnswer, options);
    return undefined;
  } catch (error) {
    const status = statusIn(error);
    if (!unknownStatuses.includes(status)) throw error;
    return status;
  }
}

/** Returns the HTTP status in an error, or undefined if the server did not respond. */
function statusIn(error: unknown): number | undefined {
  const { status } = EngineError.is(error) ? error.details : {};
  return typeof status === 'number' ? status : undefined;
}

/**
 * Time limit in ms, both for one attempt to delete weights and for all attempts together. Training
 * waits for the deletion.
 */
const removeMs = 15_000;

/**
 * Deletes saved weights that are no longer needed, unless the server no longer has them. Failures
 * are logged.
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
