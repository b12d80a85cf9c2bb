/** `trinity run`: a whole run, from the YAML to an exit code. */
import type { RunSummary } from '@trinity-rft/launcher';
import type { AddCommand } from '../shared/command.js';
import { exitCodes } from '../shared/exit-codes.js';
import { interruptible } from '../shared/interrupt.js';
import { allPluginDirs, pluginDirOption, type PluginDirOption } from '../shared/options.js';
import { serveAccess } from '../shared/serve-access.js';

interface RunArguments extends PluginDirOption {
  readonly config: string;
}

export const addRun: AddCommand = (program, { exitWith }) =>
  void program
    .command('run')
    .description('run, or resume, what a configuration describes')
    .requiredOption('-c, --config <file>', 'YAML file')
    .option(...pluginDirOption)
    .action(exitWith(runCommand));

async function runCommand(given: RunArguments): Promise<number> {
  const { run, standardTerminal } = await import('@trinity-rft/launcher');
  const terminal = standardTerminal();
  const summary = await interruptible(terminal, (signal) =>
    run({
      configPath: given.config,
      pluginDirs: allPluginDirs(given),
      terminal,
      signal,
      serve: serveAccess(terminal),
    }),
  );
  terminal.write(closingText(summary));
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
