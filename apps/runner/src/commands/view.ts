/** `trinity view`: a local page over recorded experiences. */
import type { AddCommand, Write } from '../shared/command.js';
import { exitCodes } from '../shared/exit-codes.js';
import { untilInterrupted } from '../shared/interrupt.js';
import { pluginsOf, portOf, withPlugins, type PluginOptions } from '../shared/options.js';

interface ViewArguments extends PluginOptions {
  readonly port?: string;
  /** Folder of the model with the tokenizer, if it is not found automatically. */
  readonly tokenizer?: string;
}

export const addView: AddCommand = (program, { exitWith, write }) =>
  void withPlugins(program.command('view <run>'))
    .description('a local page over recorded experiences, also while the run is in progress')
    .option('-p, --port <number>', '0 = any free port', '0')
    .option(
      '--tokenizer <folder>',
      'model folder with the tokenizer of the records; found automatically if the run is complete',
    )
    .addHelpText('after', '\n<run> is a configuration, the folder of a run, or a database (.db).')
    .action(exitWith((run: string, given: ViewArguments) => viewRecords(run, given, write)));

/** Serves the page until Ctrl-C. */
export async function viewRecords(
  run: string,
  given: ViewArguments,
  write: Write,
): Promise<number> {
  const { findRecords } = await import('@trinity-rft/launcher');
  const { openViewer } = await import('@trinity-rft/viewer');
  const { tokenizer } = given;
  const found = await findRecords(run, pluginsOf(given));
  const stores =
    tokenizer === undefined ? found : found.map((store) => ({ ...store, modelFolder: tokenizer }));
  const viewer = await openViewer({ stores, port: portOf(given.port) });
  try {
    const databases = stores.map(({ database }) => database).join('\n');
    write(`${databases}\n\nOpen ${viewer.url}\nPress Ctrl-C to stop.\n`);
    await untilInterrupted();
  } finally {
    await viewer.close();
  }
  return exitCodes.done;
}
