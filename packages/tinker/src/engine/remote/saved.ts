/** Looks up and deletes weights saved on the server. */
import {
  formatTinkerPath,
  paths,
  weightsInfoAnswer,
  type TinkerPath,
} from '../../protocol/index.js';
import { describeError, EngineError, type Logger } from '@trinity-rft/core';
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
    const { status } = EngineError.is(error) ? error.details : {};
    if (typeof status !== 'number') throw error;
    return status;
  }
}

/** Maximum time for retries of a deletion, in ms. Training waits no longer than this. */
const removePatienceMs = 15_000;

/** Deletes saved weights that are no longer needed. Failures are logged. */
export async function removeSaved(
  { connection, logger }: RemoveOptions,
  saved: TinkerPath,
): Promise<void> {
  const address = formatTinkerPath(saved);
  const path = paths.checkpoint(saved.modelId, `${saved.kind}/${saved.name}`);
  try {
    const what = `delete ${address}`;
    await connection.send({ method: 'DELETE', path, what, patienceMs: removePatienceMs });
  } catch (error) {
    logger.warn(`${address} stays on the Tinker server: ${describeError(error)}`);
  }
}
