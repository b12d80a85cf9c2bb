/** Where plugins are: as in the original, also in the environment. */
import path from 'node:path';

/** The directories of the command line, then those of `TRINITY_PLUGIN_DIRS`. */
export const allPluginDirs = (given: readonly string[]): readonly string[] => [
  ...given,
  ...(process.env['TRINITY_PLUGIN_DIRS']?.split(path.delimiter).filter(Boolean) ?? []),
];
