/**
 * The `trinity` command line: turns arguments into commands, and errors into messages and exit
 * codes.
 */
import { CommanderError } from 'commander';
import { asTyped, ownCommand } from '@trinity-rft/core/support';
import { createProgram, dashed, type Output } from './program.js';
import { exitCodes, toFailure } from './shared/exit-codes.js';
import { whatInstead } from './shared/other-names.js';

const command = ownCommand(process.env);

const standardOutput: Output = {
  out: (text) => void process.stdout.write(isJson(text) ? text : asTyped(text, command)),
  err: (text) => void process.stderr.write(asTyped(text, command)),
};

const isJson = (text: string): boolean => /^[[{]/.test(text);

/**
 * Runs a command line (without `node` and the script); resolves with the exit code, never rejects.
 */
export async function main(
  args: readonly string[],
  output: Output = standardOutput,
): Promise<number> {
  let exitCode: number = exitCodes.done;
  const program = createProgram(output, (action) => async (...given) => {
    exitCode = await action(...given);
  });
  try {
    await program.parseAsync(args.map(dashed), { from: 'user' });
    return exitCode;
  } catch (error) {
    if (error instanceof CommanderError) {
      // Commander has already printed its message.
      const instead = whatInstead(error.message, args.map(dashed));
      if (instead !== undefined) output.err(`${instead}\n`);
      return error.exitCode === 0 ? exitCodes.done : exitCodes.userError;
    }
    const failure = toFailure(error);
    output.err(`${failure.message}\n`);
    return failure.exitCode;
  }
}
