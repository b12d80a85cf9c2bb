/** `trinity serve`: a model for a running product, and training on the product's feedback. */
import { ConfigError } from '@trinity-rft/core';
import type { AddCommand } from '../shared/command.js';
import { exitCodes } from '../shared/exit-codes.js';
import { interruptible, untilInterrupted } from '../shared/interrupt.js';
import {
  fileOf,
  pluginsOf,
  portOf,
  withFile,
  withPlugins,
  type FileOptions,
  type PluginOptions,
} from '../shared/options.js';
import { serveAccess, tinkerKey } from '../shared/serve-access.js';

interface ServeArguments extends FileOptions, PluginOptions {
  readonly port?: string;
  readonly host?: string;
  /** False with `--no-train`. */
  readonly train: boolean;
  readonly tinker?: boolean;
}

export const addServe: AddCommand = (program, { exitWith }) =>
  void withPlugins(withFile(program.command('serve')))
    .description('serve the model to a running product, and train on its feedback')
    .option('--port <number>', 'instead of explorer.proxy_port; 0 = any free port')
    .option('--host <address>', 'instead of explorer.listen_address')
    .option('--no-train', 'another process trains, with mode: train')
    .option('--tinker', 'serve the Tinker protocol instead: clients train the model, and sample')
    .addHelpText(
      'after',
      '\nClients send the key in TRINITY_SERVE_KEY, or the one that is shown at the start.',
    )
    .action(exitWith(serveCommand));

async function serveCommand(file: string | undefined, given: ServeArguments): Promise<number> {
  const configPath = fileOf('serve', file, given);
  if (given.tinker === true) return serveTinkerCommand(configPath, given);
  const { readConfiguration, run, standardTerminal } = await import('@trinity-rft/launcher');
  const port = portOf(given.port);
  const terminal = standardTerminal();
  const access = serveAccess(terminal);
  const plugins = pluginsOf(given);
  const { loaded } = await readConfiguration({
    configPath,
    ...plugins,
    // Keys of other modes, such as task sets, may stay in the file; they have no effect.
    overrides: { mode: 'serve' },
    overridesName: 'trinity serve',
  });
  if (loaded.config.stages.at(-1)?.mode !== 'serve')
    throw new ConfigError(
      `${configPath} has stages, and the last one does not serve. Give it mode: serve.`,
      { code: 'SERVE_STAGE' },
    );
  const { train, host } = given;
  const { trainStep } = await interruptible(terminal, (signal) =>
    run({
      configPath: loaded,
      ...plugins,
      terminal,
      signal,
      serve: { ...access, train, port, host },
    }),
  );
  terminal.write(`Stopped after train step ${trainStep}. The same command continues from there.\n`);
  return exitCodes.done;
}

async function serveTinkerCommand(configPath: string, given: ServeArguments): Promise<number> {
  if (!given.train)
    throw new ConfigError('--no-train does nothing with --tinker: clients train. Leave it out.', {
      code: 'ARGUMENT_INVALID',
    });
  const { serveTinker } = await import('@trinity-rft/inspect');
  const { standardTerminal } = await import('@trinity-rft/launcher');
  const terminal = standardTerminal();
  const apiKey = tinkerKey();
  const access = { apiKey, host: given.host, port: portOf(given.port) };
  const onNotice = (notice: string): void => terminal.write(`${notice}\n`);
  const served = await serveTinker({ configPath, ...pluginsOf(given), ...access, onNotice });
  try {
    const shown = apiKey === undefined ? served.apiKey : 'that of TRINITY_SERVE_KEY';
    terminal.write(`Serving ${served.model} until Ctrl-C. Clients need:

TINKER_BASE_URL=${served.url}
TINKER_API_KEY=${shown}

Saved weights: ${served.directory}
`);
    await untilInterrupted();
  } finally {
    await served.close();
  }
  return exitCodes.done;
}
