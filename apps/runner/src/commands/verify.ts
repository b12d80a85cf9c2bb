/**
 * `trinity verify`: compares recorded log-probabilities with those of the weights that sampled the
 * tokens.
 */
import type { AddCommand } from '../shared/command.js';
import { exitCodes } from '../shared/exit-codes.js';
import { pluginsOf, withPlugins, type PluginOptions } from '../shared/options.js';
import { numberOf } from '../shared/arguments.js';

interface VerifyArguments extends PluginOptions {
  readonly tolerance: string;
}

/**
 * Adds `verify`, which ends with exit code 1 if a difference exceeds the tolerance, or nothing
 * could be checked.
 */
export const addVerify: AddCommand = (program, { exitWith, write }) =>
  void withPlugins(program.command('verify <run>'))
    .description(
      'recompute the log-probabilities of recorded tokens under the weights that sampled them',
    )
    .option('--tolerance <number>', 'largest difference of a log-probability', '1e-5')
    .addHelpText('after', '\n<run> is a configuration, or the folder of a run.')
    .action(
      exitWith(async (run: string, given: VerifyArguments) => {
        const { renderVerification, verifyRun } = await import('@trinity-rft/inspect');
        const tolerance = numberOf('--tolerance', given.tolerance);
        const verification = await verifyRun({ run, tolerance, ...pluginsOf(given) });
        write(renderVerification(verification));
        return verification.ok ? exitCodes.done : exitCodes.failed;
      }),
    );
