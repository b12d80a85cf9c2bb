/** `trinity serve`: a model for a running product, and training on the product's feedback. */
import { ConfigError } from '@trinity-rft/core';
import type { AddCommand } from '../shared/command.js';
import { exitCodes } from '../shared/exit-codes.js';
import { interruptible } from '../shared/interrupt.js';
import { allPluginDirs, pluginDirOption, portOf, type PluginDirOption } from '../shared/options.js';
import { serveAccess } from '../shared/serve-access.js';

interface ServeArguments extends PluginDirOption {
  readonly config: string;
  readonly port?: string;
  readonly host?: string;
  /** False with `--no-train`. */
  readonly train: boolean;
}

export const addServe: AddCommand = (program, { exitWith }) =>
  void program
    .command('serve')
    .description('serve the model to a running product, and train on its feedback')
    .requiredOption('-c, --config <file>', 'YAML file')
    .option(...pluginDirOption)
    .option('--port <number>', 'instead of explorer.proxy_port; 0 = any free port')
    .option('--host <address>', 'instead of explorer.listen_address')
    .option('--no-train', 'another process trains, with mode: train')
    .addHelpText(
      'after',
      '\nClients send the key in TRINITY_SERVE_KEY, or the one that is shown at the start.',
    )
    .action(exitWith(serveCommand));

async function serveCommand(given: ServeArguments): Promise<number> {
  const { readConfiguration, run, standardTerminal } = await import('@trinity-rft/launcher');
  const port = portOf(given.port);
  const terminal = standardTerminal();
  const access = serveAccess(terminal);
  const pluginDirs = allPluginDirs(given);
  const { loaded } = await readConfiguration({
    configPath: given.config,
    pluginDirs,
    // Keys of other modes, such as task sets, may stay in the file; they have no effect.
    overrides: { mode: 'serve' },
    overridesName: 'trinity serve',
  });
  if (loaded.config.stages.at(-1)?.mode !== 'serve')
    throw new ConfigError(
      `${given.config} has stages, and the last one does not serve. Give it mode: serve.`,
      { code: 'SERVE_STAGE' },
    );
  const { train, host } = given;
  const { trainStep } = await interruptible(terminal, (signal) =>
    run({
      configPath: loaded,
      pluginDirs,
      terminal,
      signal,
      serve: { ...access, train, port, host },
    }),
  );
  terminal.write(`Stopped after train step ${trainStep}. The same command continues from there.\n`);
  return exitCodes.done;
}
