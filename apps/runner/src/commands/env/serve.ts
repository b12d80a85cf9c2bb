/** `trinity env serve`: serves an environment to other trainers over the OpenEnv protocol. */
import type { AddCommand } from '../../shared/command.js';
import { exitCodes } from '../../shared/exit-codes.js';
import { untilInterrupted } from '../../shared/interrupt.js';
import { pluginsOf, portOf } from '../../shared/options.js';
import { seedOf, withWorld, worldOf, type WorldArguments } from './options.js';
import { integerOf, invalid } from '../../shared/arguments.js';

interface ServeArguments extends WorldArguments {
  readonly host: string;
  readonly port: string;
  readonly apiKeyEnv?: string;
  readonly max: string;
  readonly tasks: string;
  readonly seed: string;
}

export const addServe: AddCommand = (env, { exitWith, write }) =>
  void withWorld(env.command('serve <name>'))
    .description('serve an environment to whatever speaks OpenEnv: TRL, verifiers, miles')
    .option('--host <address>', 'other hosts than this one need a key', '127.0.0.1')
    .option('-p, --port <number>', '0 = any free port', '8000')
    .option('--api-key-env <name>', 'the variable that holds the key of clients')
    .option('--max <number>', 'episodes at once', '256')
    .option(
      '--tasks <number>',
      'generated tasks for training, if there are so many; a tenth for evaluations',
      '1000',
    )
    .option('--seed <number>', 'another seed makes up other tasks', '0')
    .action(
      exitWith(async (name: string, given: ServeArguments) => {
        const { serveEnvironment } = await import('@trinity-rft/environment');
        const server = await serveEnvironment({
          ...worldOf(name, given),
          definition: await definitionOf(name, given),
          host: given.host,
          port: portOf(given.port),
          apiKey: keyOf(given),
          maxConcurrentEnvs: integerOf('--max', given.max, 1),
          tasks: integerOf('--tasks', given.tasks, 1),
          seed: seedOf(given),
        });
        try {
          write(`${name} is at ${server.url}\nPress Ctrl-C to stop.\n`);
          await untilInterrupted();
        } finally {
          await server.close();
        }
        return exitCodes.done;
      }),
    );

async function definitionOf(name: string, given: ServeArguments) {
  const { listEnvironments } = await import('@trinity-rft/launcher/parts');
  const all = await listEnvironments(pluginsOf(given));
  const found = all.find((each) => each.name === name);
  if (found !== undefined) return found;
  const names = all.map((each) => each.name).join(', ');
  throw invalid(`There is no environment "${name}". Known: ${names}.`);
}

/**
 * Key in the variable that `--api-key-env` names; undefined without the option.
 * @throws ConfigError when the variable is not set
 */
function keyOf({ apiKeyEnv: name }: ServeArguments): string | undefined {
  if (name === undefined) return undefined;
  const key = process.env[name];
  if (key !== undefined && key !== '') return key;
  throw invalid(`--api-key-env names ${name}, which is not set.`);
}
