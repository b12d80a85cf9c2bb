/** The `trinity` command line: arguments to commands, errors to messages and exit codes. */
import { Command, CommanderError } from 'commander';
import type { AlgorithmsOptions } from './algorithms-command.js';
import { checkCommand, planCommand, schemaCommand } from './config-commands.js';
import { exitCodes, toFailure } from './exit-codes.js';

/** Where the command line writes. */
export interface Output {
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
}

const standardOutput: Output = {
  out: (text) => void process.stdout.write(text),
  err: (text) => void process.stderr.write(text),
};

const pluginDirOption = [
  '--plugin-dir <directory>',
  'directory whose modules export workflows, reward functions and algorithms; may be repeated',
  (dir: string, all: readonly string[]): readonly string[] => [...all, dir],
  [] as readonly string[],
] as const;

/** `--plugin_dir` is `--plugin-dir`: Trinity's documents spell options both ways. */
const dashed = (argument: string): string =>
  argument.replace(/^--[a-z_]+/, (name) => name.replaceAll('_', '-'));

/** What Commander makes of `trinity debug`. */
interface DebugArguments {
  readonly config: string;
  readonly module: string;
  readonly pluginDir: readonly string[];
  readonly outputDir: string;
  readonly disableOverwrite?: boolean;
  readonly enableProfiling?: boolean;
  readonly newestCheckpoint?: boolean;
  readonly outputFile?: string;
  readonly port?: string;
}

/**
 * Runs one command line (without `node` and the script) and resolves with the exit code. Never
 * rejects.
 */
export async function main(
  args: readonly string[],
  output: Output = standardOutput,
): Promise<number> {
  let exitCode: number = exitCodes.done;
  const program = new Command('trinity')
    .description('Reinforcement fine-tuning of the language model behind an agent.')
    .configureOutput({ writeOut: output.out, writeErr: output.err })
    .exitOverride()
    .showHelpAfterError('Run "trinity --help" for the commands.');

  program
    .command('run')
    .description('run, or resume, what a configuration describes')
    .requiredOption('-c, --config <file>', 'YAML file')
    .option(...pluginDirOption)
    .action(async (options: { config: string; pluginDir: readonly string[] }) => {
      // The engine takes a while to load, and nobody else needs it.
      const { runCommand } = await import('./run-command.js');
      exitCode = await runCommand(options);
    });

  program
    .command('serve')
    .description('serve the model to a running product, and train on its feedback')
    .requiredOption('-c, --config <file>', 'YAML file')
    .option(...pluginDirOption)
    .option('--port <number>', 'instead of explorer.proxy_port; 0 = any that is free')
    .option('--host <address>', 'instead of explorer.listen_address')
    .option('--no-train', 'another process trains, with mode: train')
    .addHelpText(
      'after',
      '\nClients send the key in TRINITY_SERVE_KEY, else one that is shown at the start.',
    )
    .action(
      async (options: {
        config: string;
        pluginDir: readonly string[];
        port?: string;
        host?: string;
        train: boolean;
      }) => {
        const { serveCommand } = await import('./serve-command.js');
        exitCode = await serveCommand(options);
      },
    );

  program
    .command('verify <run>')
    .description(
      'recompute the log-probabilities of recorded tokens under the weights that sampled them',
    )
    .option('--tolerance <number>', 'largest difference of a log-probability', '1e-5')
    .option(...pluginDirOption)
    .addHelpText('after', '\n<run> is a configuration, or the folder of a run.')
    .action(async (run: string, options: { tolerance: string; pluginDir: readonly string[] }) => {
      const { verifyCommand } = await import('./verify-command.js');
      exitCode = await verifyCommand(run, options, output.out);
    });

  program
    .command('debug')
    .description(
      'try parts of a run by themselves: keep its model served, run its workflow once, look at what was recorded',
    )
    .requiredOption('-c, --config <file>', 'YAML file')
    .requiredOption('-m, --module <name>', 'inference_model, workflow or viewer')
    .option(...pluginDirOption)
    .option(
      '-o, --output-dir <directory>',
      'for the files of the workflow, and where a served model is found again',
      'debug_output',
    )
    .option(
      '--disable-overwrite',
      'keep what is in the output directory: write to a new one beside it',
    )
    .option('--enable-profiling', 'also write where the time went, as a page and as a Chrome trace')
    .option('--output-file <file>', 'also write where the time went, as a page, to this file')
    .option(
      '--newest-checkpoint',
      'take the newest checkpoint of the run instead of the model it begins with',
    )
    .option('-p, --port <number>', 'of inference_model and viewer; 0 = any that is free')
    .action(async (options: DebugArguments) => {
      const { debugCommand } = await import('./debug-command.js');
      const {
        disableOverwrite = false,
        enableProfiling = false,
        newestCheckpoint = false,
        ...rest
      } = options;
      exitCode = await debugCommand(
        { ...rest, overwrite: !disableOverwrite, enableProfiling, newestCheckpoint },
        output.out,
      );
    });

  program
    .command('view <run>')
    .description('a local page over recorded experiences, also while a run goes on')
    .option('-p, --port <number>', '0 = any that is free', '0')
    .option(
      '--tokenizer <folder>',
      'model folder whose tokenizer reads the tokens; found by itself where the run is complete',
    )
    .option(...pluginDirOption)
    .addHelpText('after', '\n<run> is a configuration, the folder of a run, or a database (.db).')
    .action(
      async (
        run: string,
        options: { port: string; tokenizer?: string; pluginDir: readonly string[] },
      ) => {
        const { viewCommand } = await import('./view-command.js');
        exitCode = await viewCommand(run, options, output.out);
      },
    );

  program
    .command('algorithms [name]')
    .description(
      'the algorithms and their parts, or one of them in full: formula, arguments, source',
    )
    .option(...pluginDirOption)
    .option('--json', 'as JSON')
    .action(async (name: string | undefined, options: AlgorithmsOptions) => {
      const { algorithmsCommand } = await import('./algorithms-command.js');
      exitCode = await algorithmsCommand(name, options, output.out);
    });

  const config = program
    .command('config')
    .description('look at a configuration without running it');
  config
    .command('check <file>')
    .description('every error and warning, with its place and cure')
    .option(...pluginDirOption)
    .action(async (file: string, { pluginDir }: { pluginDir: readonly string[] }) => {
      exitCode = await checkCommand(file, pluginDir, output.out);
    });
  config
    .command('schema')
    .description('the JSON Schema, for editors')
    .option(...pluginDirOption)
    .action(async ({ pluginDir }: { pluginDir: readonly string[] }) => {
      exitCode = await schemaCommand(pluginDir, output.out);
    });
  config
    .command('plan <file>')
    .description('what would run: stages, steps, batches, memory, files')
    .option(...pluginDirOption)
    .action(async (file: string, { pluginDir }: { pluginDir: readonly string[] }) => {
      exitCode = await planCommand(file, pluginDir, output.out);
    });

  try {
    await program.parseAsync(args.map(dashed), { from: 'user' });
    return exitCode;
  } catch (error) {
    // Commander has already printed its message.
    if (error instanceof CommanderError)
      return error.exitCode === 0 ? exitCodes.done : exitCodes.userError;
    const failure = toFailure(error);
    output.err(`${failure.message}\n`);
    return failure.exitCode;
  }
}
