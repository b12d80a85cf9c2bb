/** `trinity run`: runs or resumes a configuration. */
import path from 'node:path';
import type { ResolvedConfig } from '@trinity-rft/config';
import { Option } from 'commander';
import type { RunSummary, Terminal } from '@trinity-rft/launcher';
import type { AddCommand } from '../shared/command.js';
import { exitCodes } from '../shared/exit-codes.js';
import { interruptible } from '../shared/interrupt.js';
import { howToGoOn, nextSteps } from '../shared/next-steps.js';
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
import { integerOf, invalid } from '../shared/arguments.js';

interface RunArguments extends FileOptions, PluginOptions {
  readonly mode?: string;
  readonly explorerName?: string;
  readonly explorers?: string;
  readonly alone?: boolean;
  readonly newRun?: boolean;
  readonly acceptChangedFiles?: boolean;
  readonly studio?: boolean;
  /** Run name that a supervisor has chosen for its processes. */
  readonly runName?: string;
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
    .addOption(new Option('--run-name <name>').hideHelp())
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
  const supervised = await supervisedOf(configPath, given);
  if (supervised.explorers > 0)
    return superviseRun({ ...given, configPath, ...supervised }, terminal);
  const summary = await interruptible(terminal, (signal) =>
    run({
      configPath,
      ...pluginsOf(given),
      ...overridesOf(given),
      terminal,
      signal,
      serve: serveAccess(terminal),
      alone: given.alone,
      newRun: given.newRun,
      acceptChangedFiles: given.acceptChangedFiles,
      runName: given.runName,
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

/**
 * Returns the overrides from the command line. They replace values of the file wherever it is read.
 */
function overridesOf({ mode, explorerName, explorers }: RunArguments) {
  return {
    overrides: {
      ...(mode !== undefined && { mode }),
      ...(explorerName !== undefined && { explorer: { name: explorerName } }),
      ...(explorers !== undefined && {
        cluster: { explorers: integerOf('--explorers', explorers) },
      }),
    },
    overridesName: 'command line',
  };
}

/**
 * Returns what a supervisor needs to know of the run. `explorers` is 0 if this process does
 * everything itself.
 * @throws ConfigError if `--explorers` is not a number or contradicts other options, or if the file
 * cannot have explorers
 */
async function supervisedOf(configPath: string, given: RunArguments) {
  const { name: runName, stages } = await resolved(configPath, given);
  const [{ mode, part, cluster, monitor }] = stages;
  const metricsFile = path.join(monitor.directory, 'metrics.jsonl');
  const { explorers } = cluster;
  const isAsked = given.explorers !== undefined && explorers > 0;
  if (mode !== 'both' && isAsked)
    throw invalid(
      `--explorers is ${explorers}, and the mode of ${configPath} is ${mode}. Expected mode both.`,
    );
  if (mode !== 'both' || (part !== undefined && !isAsked))
    return { explorers: 0, runName, metricsFile };
  const others = [
    part !== undefined && given.mode !== undefined && `--mode ${given.mode}`,
    given.explorerName !== undefined && '--explorer-name',
    given.alone && '--alone',
  ].filter(Boolean);
  if (explorers > 0 && others.length > 0)
    throw invalid(
      `This run starts a trainer and ${explorers} explorers, so ${others.join(' and ')} would have no effect. Leave out what is for one process, or use --explorers 0.`,
    );
  return { explorers, runName, metricsFile };
}

async function resolved(configPath: string, given: RunArguments): Promise<ResolvedConfig> {
  const { readConfiguration } = await import('@trinity-rft/launcher');
  const { runName } = given;
  const options = { configPath, ...pluginsOf(given), ...overridesOf(given), runName };
  const { loaded } = await readConfiguration(options);
  return loaded.config;
}

function closingText(summary: RunSummary): string {
  const { interrupted, doneBefore, trainStep, checkpoint, jobDirectory, stageName } = summary;
  const stage = stageName === undefined ? '' : ` in stage ${stageName}`;
  const place = checkpoint ?? jobDirectory;
  const step = trainStep === undefined ? '' : ` after train step ${trainStep}`;
  if (interrupted) return `Interrupted${step}${stage}. ${howToGoOn(summary)}\n`;
  if (doneBefore)
    return `This run is complete${step}: ${place}\nRaise total_steps or total_epochs to train on, or give another run another name.\n`;
  return checkpoint === undefined ? `Done: ${place}\n` : `Done${step}: ${place}\n`;
}
