/** `trinity config check | schema | plan`: what a configuration says, without running it. */
import { builtInTables, type AlgorithmTables } from '@trinity-rft/algorithm';
import { configJsonSchema, loadConfig, planConfig, renderPlan } from '@trinity-rft/config';
import { exitCodes } from './exit-codes.js';
import { allPluginDirs } from './plugin-dirs.js';

type Write = (text: string) => void;

/**
 * The algorithms that configurations may name. Without plugins nothing of the launcher is loaded,
 * whose engine takes a while.
 */
export async function algorithmsOf(given: readonly string[]): Promise<AlgorithmTables> {
  const pluginDirs = allPluginDirs(given);
  if (pluginDirs.length === 0) return builtInTables;
  const { loadExtensions } = await import('@trinity-rft/launcher');
  return (await loadExtensions({ pluginDirs })).algorithms;
}

export async function checkCommand(
  file: string,
  pluginDirs: readonly string[],
  write: Write,
): Promise<number> {
  const { warnings } = await loadConfig(file, { algorithms: await algorithmsOf(pluginDirs) });
  for (const warning of warnings) write(`${warning}\n`);
  write(
    `${file}: no errors${warnings.length > 0 ? `, ${warnings.length} warning${warnings.length > 1 ? 's' : ''}` : ''}.\n`,
  );
  return exitCodes.done;
}

export async function schemaCommand(pluginDirs: readonly string[], write: Write): Promise<number> {
  write(`${JSON.stringify(configJsonSchema(await algorithmsOf(pluginDirs)), null, 2)}\n`);
  return exitCodes.done;
}

export async function planCommand(
  file: string,
  pluginDirs: readonly string[],
  write: Write,
): Promise<number> {
  const { config, warnings } = await loadConfig(file, {
    algorithms: await algorithmsOf(pluginDirs),
  });
  for (const warning of warnings) write(`${warning}\n`);
  write(`${renderPlan(planConfig(config))}\n`);
  return exitCodes.done;
}
