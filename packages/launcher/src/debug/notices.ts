/** What a run would log, kept to be shown with the attempt. */
import type { Logger } from '@trinity-rft/core';

export interface Notices {
  readonly logger: Logger;
  readonly lines: readonly string[];
}

/** From `info` on. Failures of the attempt are left out: they are shown by themselves. */
export function collectNotices(): Notices {
  const lines: string[] = [];
  const keep = (message: string, fields?: Readonly<Record<string, unknown>>): void => {
    if (fields?.['attempt'] === undefined) lines.push(message);
  };
  const logger: Logger = {
    debug: () => undefined,
    info: keep,
    warn: keep,
    error: keep,
    child: () => logger,
  };
  return { logger, lines };
}
