/**
 * `trinity status` and `trinity why`: show the state of a run's processes, and why the run stalls.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { ConfigError } from '@trinity-rft/core';
import { jsonText, type AddCommand } from '../shared/command.js';
import { exitCodes } from '../shared/exit-codes.js';
import { pluginsOf, withPlugins, type PluginOptions } from '../shared/options.js';

interface StatusArguments extends PluginOptions {
  readonly watch?: boolean;
  readonly json?: boolean;
}

const watchMs = 1000;
const runHelp = '\n<run> is a configuration, or the folder of a run.';
const clearScreen = '\u001B[2J\u001B[H';

export const addStatus: AddCommand = (program, { exitWith, write }) =>
  void withPlugins(program.command('status <run>'))
    .description('state of every process of a run: steps, weights, tasks, waits')
    .option(
      '--watch',
      'again every second, until it is interrupted or the only process has ended; exit code 0 whatever its end',
    )
    .option('--json', 'as JSON; with --watch a line each time')
    .addHelpText('after', runHelp)
    .action(
      exitWith(async (run: string, given: StatusArguments) => {
        const { openStatus, renderStatus } = await import('@trinity-rft/inspect');
        const reader = await openStatus(run, pluginsOf(given));
        const { watch = false, json = false } = given;
        const over = new AbortController();
        // A reader that ends early (`trinity status RUN --watch | head`) ends the watch.
        const onError = (): void => over.abort();
        process.stdout.once('error', onError);
        const look = async (): Promise<string> => {
          try {
            const status = await reader.look();
            if (json) return `${JSON.stringify(status, null, watch ? 0 : 2)}\n`;
            return `${watch && process.stdout.isTTY ? clearScreen : ''}${renderStatus(status)}`;
          } catch (error) {
            // `openStatus` has found a status, so the process has ended or is about to end.
            if (!watch || !(error instanceof ConfigError)) throw error;
            if (error.code === 'RUN_NOT_STARTED') over.abort();
            else if (error.code !== 'RUN_WITHOUT_STATUS') throw error;
            return json ? '' : `${error.message}\n`;
          }
        };
        try {
          do {
            write(await look());
            if (watch) await sleep(watchMs, undefined, over).catch(() => undefined);
          } while (watch && !over.signal.aborted);
        } finally {
          process.stdout.off('error', onError);
          await reader.close();
        }
        return exitCodes.done;
      }),
    );

export const addWhy: AddCommand = (program, { exitWith, write }) =>
  void withPlugins(program.command('why <run>'))
    .description('why a run has stalled: the wait chain down to its root cause')
    .option('--json', 'as JSON')
    .addHelpText('after', runHelp)
    .action(
      exitWith(async (run: string, given: StatusArguments) => {
        const { causesOf, openStatus, renderCauses } = await import('@trinity-rft/inspect');
        const reader = await openStatus(run, pluginsOf(given));
        try {
          const causes = causesOf(await reader.look());
          write(given.json === true ? jsonText(causes) : renderCauses(causes));
        } finally {
          await reader.close();
        }
        return exitCodes.done;
      }),
    );
