/** `trinity config check | schema | plan`: what a configuration says, without running it. */
import { configJsonSchema, loadConfig, planConfig, renderPlan } from '@trinity-rft/config';
import type { AddCommand } from '../shared/command.js';
import { exitCodes } from '../shared/exit-codes.js';
import { pluginDirOption, readVocabulary, type PluginDirOption } from '../shared/options.js';

export const addConfig: AddCommand = (program, { exitWith, write }) => {
  const config = program
    .command('config')
    .description('look at a configuration without running it');
  config
    .command('check <file>')
    .description('every error and warning, with its place and how to fix it')
    .option(...pluginDirOption)
    .action(
      exitWith(async (file: string, given: PluginDirOption) => {
        const { warnings } = await loadConfig(file, await readVocabulary(given));
        for (const warning of warnings) write(`${warning}\n`);
        const count = warnings.length;
        const counted = count === 0 ? '' : `, ${count} warning${count > 1 ? 's' : ''}`;
        write(`${file}: no errors${counted}.\n`);
        return exitCodes.done;
      }),
    );
  config
    .command('schema')
    .description('the JSON Schema, for editors')
    .option(...pluginDirOption)
    .action(
      exitWith(async (given: PluginDirOption) => {
        const schema = configJsonSchema(await readVocabulary(given));
        write(`${JSON.stringify(schema, null, 2)}\n`);
        return exitCodes.done;
      }),
    );
  config
    .command('plan <file>')
    .description('what would run: stages, steps, batches, memory, files')
    .option(...pluginDirOption)
    .action(
      exitWith(async (file: string, given: PluginDirOption) => {
        const { config: resolved, warnings } = await loadConfig(file, await readVocabulary(given));
        for (const warning of warnings) write(`${warning}\n`);
        write(`${renderPlan(planConfig(resolved))}\n`);
        return exitCodes.done;
      }),
    );
};
