import { homedir } from 'node:os';
import path from 'node:path';

/**
 * Returns a folder in the user's cache: below XDG_CACHE_HOME, or below ~/.cache if the variable is
 * unset or empty.
 */
export const cacheFolder = (
  env: Readonly<Record<string, string | undefined>>,
  ...names: readonly string[]
): string => path.join(env['XDG_CACHE_HOME'] || path.join(homedir(), '.cache'), ...names);
