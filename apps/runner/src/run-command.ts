/** `trinity run`: a whole run, from the YAML to an exit code. */
import { run, standardTerminal } from '@trinity-rft/launcher';
import { exitCodes } from './exit-codes.js';
import { catchInterrupts } from './interrupt.js';
import { allPluginDirs } from './plugin-dirs.js';
import { serveAccess } from './serve-command.js';

export interface RunCommandOptions {
  readonly config: string;
  readonly pluginDir: readonly string[];
}

const howToGoOn =
  'Raise total_steps or total_epochs to train on, or give another run another name.';

export async function runCommand(options: RunCommandOptions): Promise<number> {
  const terminal = standardTerminal();
  const interrupt = catchInterrupts(
    (line) => terminal.write(`\n${line}\n`),
    (code) => process.exit(code),
  );
  try {
    const pluginDirs = allPluginDirs(options.pluginDir);
    const summary = await run({
      configPath: options.config,
      pluginDirs,
      terminal,
      signal: interrupt.signal,
      serve: serveAccess(terminal),
    });
    const place = summary.checkpoint ?? summary.jobDirectory;
    if (summary.interrupted) {
      terminal.write(
        `Interrupted after train step ${summary.trainStep}. The same command goes on from there.\n`,
      );
      return exitCodes.interrupted;
    }
    terminal.write(
      summary.doneBefore
        ? `This run is complete after train step ${summary.trainStep}: ${place}\n${howToGoOn}\n`
        : `Done${summary.checkpoint === undefined ? '' : ` after train step ${summary.trainStep}`}: ${place}\n`,
    );
    return exitCodes.done;
  } finally {
    interrupt.release();
  }
}
