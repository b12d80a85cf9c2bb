/** `trinity run`: a whole run, from the YAML to an exit code. */
import type { RunSummary } from '@trinity-rft/launcher';
import type { AddCommand } from '../shared/command.js';
import { exitCodes } from '../shared/exit-codes.js';
import { interruptible } from '../shared/interrupt.js';
import { nextSteps } from '../shared/next-steps.js';
import {
  fileOf,
  pluginsOf,
  withFile,
  withPlugins,
  type FileOptions,
  type PluginOptions,
} from '../shared/options.js';
import { serveAccess } from '../shared/serve-access.js';

type RunArguments = FileOptions & PluginOptions;

export const addRun: AddCommand = (program, { exitWith }) =>
  void withPlugins(withFile(program.command('run')))
    .description('run, or resume, what a configuration describes')
    .action(exitWith(runCommand));

async function runCommand(file: string | undefined, given: RunArguments): Promise<number> {
  const configPath = fileOf('run', file, given);
  const { run, standardTerminal } = await import('@trinity-rft/launcher');
  const terminal = standardTerminal();
  const summary = await interruptible(terminal, (signal) =>
    run({ configPath, ...pluginsOf(given), terminal, signal, serve: serveAccess(terminal) }),
  );
  terminal.write(closingText(summary));
  if (!summary.interrupted) terminal.write(await nextSteps(configPath, summary, given));
  return summary.interrupted ? exitCodes.interrupted : exitCodes.done;
}

function closingText(summary: RunSummary): string {
  const { interrupted, doneBefore, trainStep, checkpoint, jobDirectory } = summary;
  const place = checkpoint ?? jobDirectory;
  if (interrupted)
    return `Interrupted after train step ${trainStep}. The same command continues from there.\n`;
  if (doneBefore)
    return `This run is complete after train step ${trainStep}: ${place}\nRaise total_steps or total_epochs to train on, or give another run another name.\n`;
  return checkpoint === undefined
    ? `Done: ${place}\n`
    : `Done after train step ${trainStep}: ${place}\n`;
}
