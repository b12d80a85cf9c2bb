/** The `trinity` command line: arguments to commands, errors to messages and exit codes. */
import { readFileSync } from 'node:fs';
import { Command, CommanderError } from 'commander';
import { addAlgorithms } from './commands/algorithms.js';
import { addConfig } from './commands/config.js';
import { addConvert } from './commands/convert.js';
import { addDebug } from './commands/debug.js';
import { addInit } from './commands/init.js';
import { addLog } from './commands/log.js';
import { addRun } from './commands/run.js';
import { addServe } from './commands/serve.js';
import { addVerify } from './commands/verify.js';
import { addView } from './commands/view.js';
import type { AddCommand } from './shared/command.js';
import { exitCodes, toFailure } from './shared/exit-codes.js';

/** Where the command line writes. */
export interface Output {
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
}

const standardOutput: Output = {
  out: (text) => void process.stdout.write(text),
  err: (text) => void process.stderr.write(text),
};

/** In the order of the help. */
const commands: readonly AddCommand[] = [
  addInit,
  addRun,
  addServe,
  addVerify,
  addDebug,
  addView,
  addLog,
  addConvert,
  addAlgorithms,
  addConfig,
];

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
    .version(versionOfPackage(), '-V, --version')
    .configureOutput({ writeOut: output.out, writeErr: output.err })
    .exitOverride()
    .showHelpAfterError('Run "trinity --help" for the commands.');
  for (const add of commands)
    add(program, {
      write: output.out,
      exitWith:
        (action) =>
        async (...given) => {
          exitCode = await action(...given);
        },
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

/** Accepts `--plugin_dir` as `--plugin-dir`: Trinity's documents spell options both ways. */
const dashed = (argument: string): string =>
  argument.replace(/^--[a-z_]+/, (name) => name.replaceAll('_', '-'));

function versionOfPackage(): string {
  const manifest = readFileSync(new URL('../package.json', import.meta.url), 'utf8');
  return (JSON.parse(manifest) as { version: string }).version;
}
