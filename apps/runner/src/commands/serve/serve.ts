/** `trinity serve`: serves a model to a running product, and trains on its feedback. */
import { ConfigError } from '@trinity-rft/core';
import type { AddCommand } from '../../shared/command.js';
import { exitCodes } from '../../shared/exit-codes.js';
import { interruptible, untilInterrupted } from '../../shared/interrupt.js';
import {
  fileOf,
  pluginsOf,
  portOf,
  withFile,
  withPlugins,
  type FileOptions,
  type PluginOptions,
} from '../../shared/options.js';
import { shownKey, serveAccess, serveKey, tinkerKey } from '../../shared/serve-access.js';
import { howToGoOn } from '../../shared/next-steps.js';
import type { FineTuningArguments } from './fine-tuning.js';
import { invalid } from '../../shared/arguments.js';
import { assertOutput } from '../../shared/output-file.js';

interface ServeArguments extends FileOptions, PluginOptions, FineTuningArguments {
  /** True to train on the feedback; false with `--no-train`. */
  readonly train: boolean;
  readonly tinker?: boolean;
  readonly model: readonly string[];
  readonly logRequests?: string;
  readonly logTexts?: boolean;
  readonly openaiFineTuning?: boolean;
}

export const addServe: AddCommand = (program, { exitWith }) =>
  void withPlugins(withFile(program.command('serve')))
    .description('serve the model to a running product, and train on its feedback')
    .option('--port <number>', 'instead of explorer.proxy_port; 0 = any free port')
    .option('--host <address>', 'instead of explorer.listen_address')
    .option('--no-train', 'another process trains, with mode: train, or none does')
    .option(
      '--model <name=path>',
      'without a configuration: serve models by name, without training; a run, checkpoint, model folder, GGUF file or export; may be repeated',
      (value: string, all: readonly string[]) => [...all, value],
      [],
    )
    .option(
      '--log-requests <file>',
      'with --model: a JSON line for each request, without texts; up to 64 MB, twice',
    )
    .option('--log-texts', 'with --log-requests: requests and answers as well')
    .option('--tinker', 'serve the Tinker protocol instead: clients train the model, and sample')
    .option(
      '--openai-fine-tuning',
      "serve OpenAI's fine-tuning API instead: files and jobs over the models of --model and --models",
    )
    .option('--models <file>', 'with it: YAML, name: folder, or name: part of a configuration')
    .option('--directory <folder>', 'with it: holds files, jobs and runs (fine-tuning)')
    .option(
      '--webhook <url>',
      'with it: notify this address when a job ends, signed with TRINITY_WEBHOOK_SECRET',
    )
    .option('--python-graders', 'with it: run the Python of graders on this machine')
    .addHelpText(
      'after',
      `
Clients send the key in TRINITY_SERVE_KEY, or the one that is shown at the start.

  trinity serve train.yaml                             trains on the product's feedback
  trinity serve --openai-fine-tuning --model gpt-4.1-mini=./SmolLM2-360M-Instruct
  trinity serve --model agent=runs/agent/train         serves the best evaluated checkpoint of a run, else the newest, also of later ones`,
    )
    .action(exitWith(serveCommand));

async function serveCommand(file: string | undefined, given: ServeArguments): Promise<number> {
  if (given.openaiFineTuning === true) return serveFineTuningCommand(file, given);
  const alone = ['models', 'directory', 'webhook', 'pythonGraders'] as const;
  if (alone.some((name) => given[name] !== undefined))
    throw invalid(
      '--models, --directory, --webhook and --python-graders need --openai-fine-tuning.',
    );
  if (given.model.length > 0) return serveModelsCommand(file, given);
  const surplus = given.logRequests !== undefined || given.logTexts === true;
  if (surplus)
    throw invalid(
      '--log-requests and --log-texts need --model: with a configuration, every call is recorded in the folder of the run.',
    );
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
    // Keys of other modes, such as task sets, may stay in the file without effect.
    overrides: { mode: 'serve' },
    overridesName: 'trinity serve',
    readsRun: !given.train,
  });
  if (loaded.config.stages.at(-1)?.mode !== 'serve')
    throw new ConfigError(
      `${configPath} has stages, and the last one does not serve. Give it mode: serve.`,
      { code: 'SERVE_STAGE' },
    );
  const { train, host } = given;
  const serve = { ...access, train, port, host };
  const summary = await interruptible(
    terminal,
    (signal) => run({ configPath: loaded, ...plugins, terminal, signal, serve }),
    train ? undefined : 'answering the requests in progress',
  );
  const after = `Stopped after train step ${summary.trainStep}.`;
  terminal.write(train ? `${after} ${howToGoOn(summary)}\n` : 'Stopped.\n');
  return exitCodes.done;
}

async function serveFineTuningCommand(
  file: string | undefined,
  given: ServeArguments,
): Promise<number> {
  const { config, tinker, train, logRequests, logTexts } = given;
  const others = [file, config, tinker, train ? undefined : true, logRequests, logTexts];
  if (others.some((each) => each !== undefined) || namesPlugins(given))
    throw invalid(
      '--openai-fine-tuning takes no configuration, --tinker, --no-train, --log-requests, --log-texts, --plugin or --plugin-dir: jobs say what is trained.',
    );
  const { serveFineTuning } = await import('./fine-tuning.js');
  return serveFineTuning(given, modelsOf(given.model));
}

async function serveModelsCommand(
  file: string | undefined,
  given: ServeArguments,
): Promise<number> {
  const config = file ?? given.config;
  if (config !== undefined)
    throw invalid(
      `--model serves models without training, so the configuration ${config} has no effect. Leave one of the two out.`,
    );
  const unused = [
    ...(given.tinker === true ? ['--tinker'] : []),
    ...(given.train ? [] : ['--no-train']),
    ...(given.plugin.length > 0 ? ['--plugin'] : []),
    ...(given.pluginDir.length > 0 ? ['--plugin-dir'] : []),
  ];
  if (unused.length > 0)
    throw invalid(
      `--model serves models without training, so ${unused.join(' and ')} ${unused.length === 1 ? 'has' : 'have'} no effect. Leave ${unused.length === 1 ? 'it' : 'them'} out.`,
    );
  if (given.logTexts === true && given.logRequests === undefined)
    throw invalid('--log-texts needs --log-requests FILE.');
  const { openModelServer } = await import('@trinity-rft/local/server');
  const { fileWriter } = await import('@trinity-rft/monitor');
  const { standardTerminal } = await import('@trinity-rft/launcher');
  const terminal = standardTerminal();
  if (given.logRequests !== undefined) await assertOutput('--log-requests', given.logRequests);
  const log =
    given.logRequests === undefined
      ? undefined
      : fileWriter(given.logRequests, { maxFileBytes: 64e6 });
  const chosen = serveKey();
  const server = await openModelServer({
    models: modelsOf(given.model),
    host: given.host,
    port: portOf(given.port),
    apiKey: chosen,
    logTexts: given.logTexts,
    onRequest: log && ((request) => log.write(JSON.stringify(request))),
    onEvent: (line) => terminal.write(`${line}\n`),
  });
  const key = shownKey(chosen, server.apiKey);
  terminal.write(`OpenAI base URL: ${server.url}/v1\nAPI key: ${key}\n`);
  await untilInterrupted();
  terminal.write('Answers the requests in progress, for up to 30 s. Ctrl-C again ends at once.\n');
  await server.close();
  log?.close();
  return exitCodes.done;
}

const namesPlugins = ({ plugin, pluginDir }: PluginOptions): boolean =>
  plugin.length > 0 || pluginDir.length > 0;

/**
 * Parses the values of `--model`. Returns paths by model name.
 * @throws ConfigError for a value that is not NAME=PATH, or a repeated name
 */
function modelsOf(given: readonly string[]): Readonly<Record<string, string>> {
  const models: Record<string, string> = {};
  for (const text of given) {
    const [, name = '', place = ''] = /^([^=]+)=(.+)$/.exec(text) ?? [];
    if (name === '' || Object.hasOwn(models, name))
      throw invalid(
        name === ''
          ? `--model is "${text}". Expected NAME=PATH, such as agent=runs/agent/train.`
          : `--model names "${name}" twice.`,
      );
    models[name] = place;
  }
  return models;
}

async function serveTinkerCommand(configPath: string, given: ServeArguments): Promise<number> {
  if (!given.train)
    throw invalid('--no-train does nothing with --tinker: clients train. Leave it out.');
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
