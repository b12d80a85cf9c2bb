import { existsSync } from 'node:fs';
import { parseModelId } from '@trinity-rft/core/support';

/**
 * Returns the hub id of a base model, or undefined for a file or folder on this machine, whose path
 * must not be published.
 */
export const hubIdOf = (base: string): string | undefined =>
  existsSync(base) ? undefined : parseModelId(base)?.repository;
