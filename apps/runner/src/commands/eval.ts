/** `trinity eval`: checkpoints of a run on its evaluation sets, compared task by task. */
import type { AddCommand, Write } from '../shared/command.js';
import { exitCodes } from '../shared/exit-codes.js';
import { interruptible } from '../shared/interrupt.js';
import {
  fileOf,
  pluginsOf,
  withFile,
  withPlugins,
  type FileOptions,
  type PluginOptions,
} from '../shared/options.js';
import { writeOutput } from '../shared/output-file.js';

interface EvalArguments extends FileOptions, PluginOptions {
  readonly checkpoints: string;
  readonly json?: string;
}

export const addEval: AddCommand = (program, { exitWith, write }) =>
  void withPlugins(withFile(program.command('eval')))
    .description('evaluate checkpoints of a run: scores with intervals, compared task by task')
    .option(
      '--checkpoints <names>',
      'base (before training), last, best (of all checkpoints), numbers of train steps',
      'base,last',
    )
    .option('--json <file>', 'write scores, differences and every task as JSON as well')
    .addHelpText(
      'after',
      '\nThe answers are shown by "trinity log RUN --answers" and in the studio.',
    )
    .action(
      exitWith((file: string | undefined, given: EvalArguments) => evalCommand(file, given, write)),
    );

async function evalCommand(
  file: string | undefined,
  given: EvalArguments,
  write: Write,
): Promise<number> {
  const configPath = fileOf('eval', file, given);
  const { evaluateRun, renderEvaluation } = await import('@trinity-rft/inspect');
  const { standardTerminal } = await import('@trinity-rft/launcher');
  const terminal = standardTerminal();
  const evaluation = await interruptible(terminal, (signal) =>
    evaluateRun({
      configPath,
      ...pluginsOf(given),
      overridesName: 'trinity eval',
      terminal,
      signal,
      checkpoints: given.checkpoints.split(',').map((name) => name.trim()),
    }),
  );
  write(renderEvaluation(evaluation));
  if (given.json !== undefined)
    await writeOutput('--json', given.json, `${JSON.stringify(evaluation, null, 2)}\n`);
  return evaluation.interrupted ? exitCodes.interrupted : exitCodes.done;
}
