/** Options that several commands have. */
import path from 'node:path';
import type { Vocabulary } from '@trinity-rft/config/internal';
import { ConfigError } from '@trinity-rft/core';

export interface PluginDirOption {
  readonly pluginDir: readonly string[];
}

/** Arguments of Commander's `option`. */
export const pluginDirOption = [
  '--plugin-dir <directory>',
  'directory whose modules export workflows, reward functions and algorithms; may be repeated',
  (directory: string, all: readonly string[]): readonly string[] => [...all, directory],
  [] as readonly string[],
] as const;

/** The directories of the command line, then those of `TRINITY_PLUGIN_DIRS`, as in Trinity-RFT. */
export const allPluginDirs = ({ pluginDir }: PluginDirOption): readonly string[] => [
  ...pluginDir,
  ...(process.env['TRINITY_PLUGIN_DIRS']?.split(path.delimiter).filter(Boolean) ?? []),
];

/** What configurations may name. @throws ConfigError for plugins that cannot be loaded */
export async function readVocabulary(given: PluginDirOption): Promise<Vocabulary> {
  const { loadExtensions } = await import('@trinity-rft/launcher/internal');
  const { algorithms, engines } = await loadExtensions({ pluginDirs: allPluginDirs(given) });
  return { algorithms, engines };
}

/** @throws ConfigError when it is not a port */
export function portOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const port = Number(text);
  if (/^\d+$/.test(text) && port <= 65_535) return port;
  throw new ConfigError(`--port is "${text}". Expected a number from 0 (any free port) to 65535.`, {
    code: 'ARGUMENT_INVALID',
  });
}
