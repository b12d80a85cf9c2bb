/** `trinity run`: a whole run, from the YAML to an exit code. */
import path from 'node:path';
import { run } from '@trinity-rft/launcher';
import { exitCodes } from './exit-codes.js';
import { catchInterrupts } from './interrupt.js';
import { standardTerminal } from './terminal.js';

export interface RunCommandOptions {
  readonly config: string;
  readonly pluginDir: readonly string[];
}

export async function runCommand(options: RunCommandOptions): Promise<number> {
  const terminal = standardTerminal();
  const interrupt = catchInterrupts(
    (line) => terminal.write(`\n${line}\n`),
    (code) => process.exit(code),
  );
  try {
    // As in the original, plugin directories can also come from the environment.
    const pluginDirs = [...options.pluginDir, ...(process.env['TRINITY_PLUGIN_DIRS']?.split(path.delimiter).filter(Boolean) ?? [])];
    const summary = await run({ configPath: options.config, pluginDirs, terminal, signal: interrupt.signal });
    if (summary.interrupted) {
      terminal.write(`Interrupted after train step ${summary.trainStep}. The same command goes on from there.\n`);
      return exitCodes.interrupted;
    }
    terminal.write(`Done after train step ${summary.trainStep}: ${summary.checkpoint ?? summary.jobDirectory}\n`);
    return exitCodes.done;
  } finally {
    interrupt.release();
  }
}
