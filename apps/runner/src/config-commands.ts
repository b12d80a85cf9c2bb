/** `trinity config check | schema | plan`: what a configuration says, without running it. */
import {
  configJsonSchema,
  loadConfig,
  planConfig,
  renderPlan,
  type Vocabulary,
} from '@trinity-rft/config';
import { exitCodes } from './exit-codes.js';
import { allPluginDirs } from './plugin-dirs.js';

type Write = (text: string) => void;

/** The algorithms and engines that configurations may name. */
export async function loadVocabulary(given: readonly string[]): Promise<Vocabulary> {
  const { loadExtensions } = await import('@trinity-rft/launcher');
  const { algorithms, engines } = await loadExtensions({ pluginDirs: allPluginDirs(given) });
  return { algorithms, engines };
}

export async function checkCommand(
  file: string,
  pluginDirs: readonly string[],
  write: Write,
): Promise<number> {
  const { warnings } = await loadConfig(file, await loadVocabulary(pluginDirs));
  for (const warning of warnings) write(`${warning}\n`);
  write(
    `${file}: no errors${warnings.length > 0 ? `, ${warnings.length} warning${warnings.length > 1 ? 's' : ''}` : ''}.\n`,
  );
  return exitCodes.done;
}

export async function schemaCommand(pluginDirs: readonly string[], write: Write): Promise<number> {
  write(`${JSON.stringify(configJsonSchema(await loadVocabulary(pluginDirs)), null, 2)}\n`);
  return exitCodes.done;
}

export async function planCommand(
  file: string,
  pluginDirs: readonly string[],
  write: Write,
): Promise<number> {
  const { config, warnings } = await loadConfig(file, await loadVocabulary(pluginDirs));
  for (const warning of warnings) write(`${warning}\n`);
  write(`${renderPlan(planConfig(config))}\n`);
  return exitCodes.done;
}
