/** Creates the `trinity` program with all its commands. */
import { readFileSync } from 'node:fs';
import { Command } from 'commander';
import { addAlgorithms } from './commands/algorithms.js';
import { addChat } from './commands/chat/chat.js';
import { addConfig } from './commands/config.js';
import { addConvert } from './commands/convert.js';
import { addDebug } from './commands/debug.js';
import { addDoctor } from './commands/doctor.js';
import { addEval } from './commands/eval.js';
import { addEnv } from './commands/env/env.js';
import { addExport } from './commands/export.js';
import { addImport } from './commands/import.js';
import { addInit } from './commands/init.js';
import { addLog } from './commands/log.js';
import { addReport } from './commands/report.js';
import { addReward } from './commands/reward.js';
import { addPairs } from './commands/pairs.js';
import { addRun } from './commands/run.js';
import { addServe } from './commands/serve/serve.js';
import { addStatus, addWhy } from './commands/status.js';
import { addVerify } from './commands/verify.js';
import { addStudio, addView } from './commands/studio.js';
import { addWhatIf } from './commands/what-if.js';
import type { AddCommand, CommandContext } from './shared/command.js';

/** Writers to standard output and standard error. */
export interface Output {
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
}

/** Commands in the order of the help. */
const commands: readonly AddCommand[] = [
  addInit,
  addRun,
  addEval,
  addExport,
  addChat,
  addServe,
  addVerify,
  addDebug,
  addStudio,
  addView,
  addReward,
  addReport,
  addLog,
  addStatus,
  addWhy,
  addDoctor,
  addWhatIf,
  addImport,
  addPairs,
  addConvert,
  addEnv,
  addAlgorithms,
  addConfig,
];

/** Creates the program. Commander prints parsing errors and throws them. */
export function createProgram({ out, err }: Output, exitWith: CommandContext['exitWith']): Command {
  const program = new Command('trinity')
    .description('Reinforcement fine-tuning of the language model behind an agent.')
    .version(versionOfPackage(), '-V, --version')
    .configureOutput({ writeOut: out, writeErr: err })
    .exitOverride()
    .showHelpAfterError('Run "trinity --help" for the commands.');
  for (const add of commands) add(program, { write: out, exitWith });
  return program;
}

/**
 * Replaces underscores in an option's name with dashes, because Trinity's documentation spells
 * options both ways.
 */
export const dashed = (argument: string): string =>
  argument.replace(/^--[a-z_]+/, (name) => name.replaceAll('_', '-'));

function versionOfPackage(): string {
  const manifest = readFileSync(new URL('../package.json', import.meta.url), 'utf8');
  return (JSON.parse(manifest) as { version: string }).version;
}
