/** `trinity run`: runs or resumes a configuration. */
import type { RunSummary, Terminal } from '@trinity-rft/launcher';
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
import { superviseRun } from '../supervise/supervise-run.js';
import { serveAccess } from '../shared/serve-access.js';
import { withStudio } from '../shared/studio-beside.js';
import { invalid } from '../shared/arguments.js';

interface RunArguments extends FileOptions, PluginOptions {
  readonly mode?: string;
  readonly explorerName?: string;
  readonly explorers?: string;
  readonly alone?: boolean;
  readonly newRun?: boolean;
  readonly acceptChangedFiles?: boolean;
  readonly studio?: boolean;
}

export const addRun: AddCommand = (program, { exitWith }) =>
  void withPlugins(withFile(program.command('run')))
    .description('run, or resume, what a configuration describes')
    .option('--explorers <number>', 'one trainer and so many explorers, each a process of its own')
    .option('--studio', 'the studio beside it, until the run ends; opens the browser of a terminal')
    .option('--mode <mode>', 'instead of the mode in the file, such as explore or train')
    .option('--explorer-name <name>', 'instead of explorer.name in the file')
    .option('--alone', 'explore without a trainer, for one that comes later (mode explore)')
    .option('--new-run', 'start over where a shared store holds an earlier run of this name')
    .option('--accept-changed-files', 'resume although files that the run reads have changed')
    .action(exitWith(runCommand));

async function runCommand(file: string | undefined, given: RunArguments): Promise<number> {
  const configPath = fileOf('run', file, given);
  const { standardTerminal } = await import('@trinity-rft/launcher');
  const terminal = standardTerminal();
  const work = () => runFile(configPath, given, terminal);
  if (given.studio !== true) return work();
  const { checkpointRootDir } = await resolved(configPath, given);
  return withStudio(checkpointRootDir, terminal, work);
}

async function runFile(
  configPath: string,
  given: RunArguments,
  terminal: Terminal,
): Promise<number> {
  const { renderEnd, reportRun } = await import('@trinity-rft/inspect');
  const { run } = await import('@trinity-rft/launcher');
  const explorers = await explorersOf(configPath, given);
  if (explorers > 0) return superviseRun({ ...given, configPath, explorers }, terminal);
  const overrides = overridesOf(given);
  const summary = await interruptible(terminal, (signal) =>
    run({
      configPath,
      ...pluginsOf(given),
      overrides,
      overridesName: 'command line',
      terminal,
      signal,
      serve: serveAccess(terminal),
      alone: given.alone,
      newRun: given.newRun,
      acceptChangedFiles: given.acceptChangedFiles,
    }),
  );
  terminal.write(closingText(summary));
  if (!summary.interrupted && !summary.doneBefore && summary.checkpoint !== undefined) {
    // Ignores a report that fails because the folder has no log or metrics: the run itself has
    // succeeded.
    const end = await reportRun(summary.jobDirectory).then(renderEnd, () => '');
    terminal.write(end === '' ? '' : `\n${end}`);
  }
  if (!summary.interrupted && given.mode !== 'explore')
    terminal.write(await nextSteps(configPath, summary, given));
  return summary.interrupted ? exitCodes.interrupted : exitCodes.done;
}

function overridesOf({ mode, explorerName }: RunArguments): Record<string, unknown> {
  return {
    ...(mode !== undefined && { mode }),
    ...(explorerName !== undefined && { explorer: { name: explorerName } }),
  };
}

/**
 * Number of explorer processes to start; 0 if this process does everything.
 * @throws ConfigError if `--explorers` is not a number, or if the file cannot have explorers
 */
async function explorersOf(configPath: string, given: RunArguments): Promise<number> {
  const { explorers, mode } = given;
  if (mode !== undefined) return 0;
  if (explorers !== undefined && !/^\d{1,4}$/.test(explorers))
    throw invalid(`--explorers is "${explorers}". Expected a number.`);
  const overrides = explorers === undefined ? {} : { cluster: { explorers: Number(explorers) } };
  const [stage] = (await resolved(configPath, given, overrides)).stages;
  if (stage.mode === 'both') return stage.part && !explorers ? 0 : stage.cluster.explorers;
  if (Number(explorers ?? 0) === 0) return 0;
  throw invalid(
    `--explorers is ${explorers}, and the mode of ${configPath} is ${stage.mode}. Expected mode both.`,
  );
}

async function resolved(
  configPath: string,
  given: PluginOptions,
  overrides: Readonly<Record<string, unknown>> = {},
) {
  const { readConfiguration } = await import('@trinity-rft/launcher');
  const options = { configPath, ...pluginsOf(given), overrides, overridesName: 'command line' };
  const { loaded } = await readConfiguration(options);
  return loaded.config;
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
