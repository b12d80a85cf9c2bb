/** The `trinity` command line: arguments to commands, errors to messages and exit codes. */
import { Command, CommanderError } from 'commander';
import { checkCommand, planCommand, schemaCommand } from './config-commands.js';
import { exitCodes, toFailure } from './exit-codes.js';
import { runCommand } from './run-command.js';

/** Runs one command line (without `node` and the script) and resolves with the exit code. Never rejects. */
export async function main(args: readonly string[]): Promise<number> {
  let exitCode: number = exitCodes.done;
  const write = (text: string): void => void process.stdout.write(text);
  const program = new Command('trinity')
    .description('Reinforcement fine-tuning of the language model behind an agent.')
    .exitOverride()
    .showHelpAfterError('Run "trinity --help" for the commands.');

  program
    .command('run')
    .description('run, or resume, what a configuration describes')
    .requiredOption('-c, --config <file>', 'YAML file')
    .option(
      '--plugin-dir <directory>',
      'directory whose modules export workflows and reward functions; may be repeated',
      (dir, all: readonly string[]) => [...all, dir],
      [],
    )
    .action(async (options: { config: string; pluginDir: readonly string[] }) => {
      exitCode = await runCommand(options);
    });

  const config = program.command('config').description('look at a configuration without running it');
  config
    .command('check <file>')
    .description('every error and warning, with its place and cure')
    .action(async (file: string) => {
      exitCode = await checkCommand(file, write);
    });
  config
    .command('schema')
    .description('the JSON Schema, for editors')
    .action(() => {
      exitCode = schemaCommand(write);
    });
  config
    .command('plan <file>')
    .description('what would run: stages, steps, batches, memory, files')
    .action(async (file: string) => {
      exitCode = await planCommand(file, write);
    });

  try {
    await program.parseAsync([...args], { from: 'user' });
    return exitCode;
  } catch (error) {
    // Commander has already printed its message.
    if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.done : exitCodes.userError;
    const failure = toFailure(error);
    process.stderr.write(`${failure.message}\n`);
    return failure.exitCode;
  }
}
