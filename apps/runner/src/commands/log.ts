/** `trinity log`: steps, rewards, evaluations, warnings and failures of a run. */
import type { Command } from 'commander';
import { jsonText, type AddCommand } from '../shared/command.js';
import { exitCodes } from '../shared/exit-codes.js';
import { pluginsOf, withPlugins, type PluginOptions } from '../shared/options.js';
import { integerOf, refuseUnused } from '../shared/arguments.js';

interface LogArguments extends PluginOptions {
  readonly lines: string;
  readonly warnings?: boolean;
  readonly metric?: string;
  readonly answers?: boolean;
  readonly json?: boolean;
}

export const addLog: AddCommand = (program, { exitWith, write }) =>
  void withPlugins(program.command('log <run>'))
    .description('what happened in a run: steps, rewards, evaluations, warnings, why it failed')
    .option('-n, --lines <number>', 'last lines of the log, or tasks of --answers', '10')
    .option('--warnings', 'only warnings and errors of the log')
    .option('--metric <name>', 'one metric, step by step, instead')
    .option(
      '--answers',
      'answers of the evaluations, first and last, of -n tasks of each set, instead',
    )
    .option('--json', 'everything, as JSON')
    .addHelpText('after', '\n<run> is a configuration, or the folder of a run.')
    .action(
      exitWith(async (run: string, given: LogArguments, command: Command) => {
        const { renderAnswers, renderMetric, renderReport, reportRun } =
          await import('@trinity-rft/inspect');
        const { metric, warnings, answers = false } = given;
        const lines = integerOf('--lines', given.lines);
        if (given.json === true)
          refuseUnused(command, 'with --json', '--lines', '--warnings', '--metric', '--answers');
        if (answers) refuseUnused(command, 'with --answers', '--warnings', '--metric');
        if (metric !== undefined) refuseUnused(command, 'with --metric', '--lines', '--warnings');
        const report = await reportRun(run, pluginsOf(given));
        if (given.json === true) write(jsonText(report));
        else if (answers) write(await renderAnswers(report, lines));
        else if (metric === undefined) write(renderReport(report, { lines, warnings }));
        else write(renderMetric(report, metric));
        return exitCodes.done;
      }),
    );
