/** Weights saved on the server. */
import { formatTinkerPath, paths, type TinkerPath } from '../../protocol/index.js';
import { describeError, type Logger } from '@trinity-rft/core';
import type { Connection } from '../http/connection.js';

export interface RemoveOptions {
  readonly connection: Connection;
  readonly logger: Logger;
}

/** Deletes what has served its purpose, or says that it stays. */
export async function removeSaved(
  { connection, logger }: RemoveOptions,
  saved: TinkerPath,
): Promise<void> {
  const address = formatTinkerPath(saved);
  const path = paths.checkpoint(saved.modelId, `${saved.kind}/${saved.name}`);
  try {
    await connection.send({ method: 'DELETE', path, what: `delete ${address}` });
  } catch (error) {
    logger.warn(`${address} stays on the Tinker server: ${describeError(error)}`);
  }
}
