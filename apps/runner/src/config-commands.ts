/** `trinity config check | schema | plan`: what a configuration says, without running it. */
import { configJsonSchema, loadConfig, planConfig, renderPlan } from '@trinity-rft/config';
import { exitCodes } from './exit-codes.js';

type Write = (text: string) => void;

export async function checkCommand(file: string, write: Write): Promise<number> {
  const { warnings } = await loadConfig(file);
  for (const warning of warnings) write(`${warning}\n`);
  write(`${file}: no errors${warnings.length > 0 ? `, ${warnings.length} warning${warnings.length > 1 ? 's' : ''}` : ''}.\n`);
  return exitCodes.done;
}

export function schemaCommand(write: Write): number {
  write(`${JSON.stringify(configJsonSchema(), null, 2)}\n`);
  return exitCodes.done;
}

export async function planCommand(file: string, write: Write): Promise<number> {
  const { config, warnings } = await loadConfig(file);
  for (const warning of warnings) write(`${warning}\n`);
  write(`${renderPlan(planConfig(config))}\n`);
  return exitCodes.done;
}
