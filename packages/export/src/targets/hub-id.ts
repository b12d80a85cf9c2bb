import { existsSync } from 'node:fs';
import { parseModelId } from '@trinity-rft/core/support';

/**
 * Returns the repository of a base model on the hub; undefined for a file or folder of this
 * machine, whose path must not be published.
 */
export const hubIdOf = (base: string): string | undefined =>
  existsSync(base) ? undefined : parseModelId(base)?.repository;
