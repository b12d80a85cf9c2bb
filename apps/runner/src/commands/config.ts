/** `trinity config check | schema | plan`: what a configuration says, without running it. */
import { configJsonSchema, planConfig, renderPlan, type LoadedConfig } from '@trinity-rft/config';
import type { CheckedFiles, ModelDownloads } from '@trinity-rft/launcher';
import type { AddCommand } from '../shared/command.js';
import { exitCodes } from '../shared/exit-codes.js';
import {
  fileOf,
  pluginsOf,
  readVocabulary,
  withFile,
  withPlugins,
  type FileOptions,
  type PluginOptions,
} from '../shared/options.js';

type ConfigArguments = FileOptions & PluginOptions;

export const addConfig: AddCommand = (program, { exitWith, write }) => {
  const config = program
    .command('config')
    .description('look at a configuration without running it');
  withPlugins(withFile(config.command('check')))
    .description('every error and warning, with its place and how to fix it')
    .action(
      exitWith(async (named: string | undefined, given: ConfigArguments) => {
        const file = fileOf('config check', named, given);
        const { loaded, files } = await load(file, given);
        const warnings = [...loaded.warnings, ...files.warnings];
        for (const warning of warnings) write(`${warning}\n`);
        const count = warnings.length;
        const counted = count === 0 ? '' : `, ${count} warning${count > 1 ? 's' : ''}`;
        write(`${file}: no errors${counted}.\n`);
        return exitCodes.done;
      }),
    );
  withPlugins(config.command('schema'))
    .description('the JSON Schema, for editors')
    .action(
      exitWith(async (given: PluginOptions) => {
        const schema = configJsonSchema(await readVocabulary(given));
        write(`${JSON.stringify(schema, null, 2)}\n`);
        return exitCodes.done;
      }),
    );
  withPlugins(withFile(config.command('plan')))
    .description('what would run: stages, steps, batches, memory, files')
    .action(
      exitWith(async (named: string | undefined, given: ConfigArguments) => {
        const file = fileOf('config plan', named, given);
        const { loaded, files } = await load(file, given);
        for (const warning of [...loaded.warnings, ...files.warnings]) write(`${warning}\n`);
        const { config: planned, lines } = await downloads(loaded);
        for (const line of lines) write(`${line}\n`);
        const { rows, pipelines, graders } = files;
        const options = { rows, pipelines, graders, file, env: process.env };
        write(`${renderPlan(planConfig(planned, options))}\n`);
        return exitCodes.done;
      }),
    );
};

interface Checked {
  readonly loaded: LoadedConfig;
  readonly files: CheckedFiles;
}

/** The hub may be unreachable: then a plan waits this long, in ms. */
const longestSilence = 15_000;

async function downloads({ config }: LoadedConfig): Promise<ModelDownloads> {
  const { planDownloads } = await import('@trinity-rft/launcher');
  const { systemClock } = await import('@trinity-rft/core/internal');
  return planDownloads(config, { env: process.env, clock: systemClock, stallMs: longestSilence });
}

/** With the plugins that the command line and the file name, and with the files that it names. */
async function load(configPath: string, given: PluginOptions): Promise<Checked> {
  const { checkFiles, readConfiguration } = await import('@trinity-rft/launcher');
  const { loaded, ...extensions } = await readConfiguration({ configPath, ...pluginsOf(given) });
  const { signal } = new AbortController();
  return { loaded, files: await checkFiles(loaded, extensions, { signal }) };
}
