/** Options and arguments of several commands. */
import path from 'node:path';
import type { Vocabulary } from '@trinity-rft/config';
import type { Command } from 'commander';
import { invalid } from './arguments.js';

export interface PluginOptions {
  readonly plugin: readonly string[];
  readonly pluginDir: readonly string[];
}

const collect = (value: string, all: readonly string[]): readonly string[] => [...all, value];

/** Adds `--plugin` and `--plugin-dir`. */
export const withPlugins = (command: Command): Command =>
  command
    .option(
      '--plugin <package>',
      'npm package, directory or module that exports environments, workflows, reward functions and algorithms; may be repeated',
      collect,
      [],
    )
    .option(
      '--plugin-dir <directory>',
      'directory of which every module is such a plugin; may be repeated',
      collect,
      [],
    );

/**
 * Returns the plugins from the command line, and those in the directories that
 * `TRINITY_PLUGIN_DIRS` lists. Trinity-RFT has the same variable.
 */
export const pluginsOf = ({
  plugin,
  pluginDir,
}: PluginOptions): { plugins: readonly string[]; pluginDirs: readonly string[] } => ({
  plugins: plugin,
  pluginDirs: [
    ...pluginDir,
    ...(process.env['TRINITY_PLUGIN_DIRS']?.split(path.delimiter).filter(Boolean) ?? []),
  ],
});

export interface FileOptions {
  readonly config?: string;
}

/**
 * Adds the `[file]` argument for the configuration file, and `--config` as an equivalent option.
 */
export const withFile = (command: Command): Command =>
  command.argument('[file]', 'YAML file').option('-c, --config <file>', 'the same, as an option');

/**
 * Returns the path of the configuration, from the argument or `--config`.
 * @throws ConfigError when there is no configuration, or two different ones
 */
export function fileOf(command: string, file: string | undefined, { config }: FileOptions): string {
  const found = file ?? config;
  if (found !== undefined && (config === undefined || config === found)) return found;
  throw invalid(
    found === undefined
      ? `Which configuration? Write: trinity ${command} FILE`
      : `Two configurations are named, ${found} and ${config}. Name one: trinity ${command} FILE`,
  );
}

/**
 * Loads the algorithms and engines that a configuration can name, including those of plugins.
 * @throws ConfigError for plugins that cannot be loaded
 */
export async function readVocabulary(given: PluginOptions): Promise<Vocabulary> {
  const { loadExtensions } = await import('@trinity-rft/launcher/parts');
  const { algorithms, engines } = await loadExtensions(pluginsOf(given));
  return { algorithms, engines };
}

/**
 * Parses a port; returns undefined if there is no text.
 * @throws ConfigError when the text is not a port
 */
export function portOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const port = Number(text);
  if (/^\d+$/.test(text) && port <= 65_535) return port;
  throw invalid(`--port is "${text}". Expected a number from 0 (any free port) to 65535.`);
}
