/**
 * `trinity studio` and `trinity view`: serve a local page that shows runs, including runs in
 * progress.
 */
import path from 'node:path';
import { Option } from 'commander';
import { stat } from 'node:fs/promises';
import { ConfigError } from '@trinity-rft/core';
import { ownCommand as typedCommand } from '@trinity-rft/core/support';
import type { RunPlace } from '@trinity-rft/inspect/studio';
import type { AddCommand, Write } from '../shared/command.js';
import { exitCodes } from '../shared/exit-codes.js';
import { untilInterrupted } from '../shared/interrupt.js';
import { pluginsOf, portOf, withPlugins, type PluginOptions } from '../shared/options.js';
import { ownCommand } from '../shared/server-flags.js';
import { keyIn } from '../shared/serve-access.js';

interface StudioArguments {
  readonly port?: string;
  /** True for the studio beside a run, which ends when the channel to the run does. */
  readonly beside?: boolean;
}

interface ViewArguments extends PluginOptions, StudioArguments {
  /**
   * Folder of the model whose tokenizer decodes the recorded tokens.
   * @default a model folder of the run that has a tokenizer
   */
  readonly tokenizer?: string;
}

export const addStudio: AddCommand = (program, { exitWith, write }) =>
  void program
    .command('studio [folder]')
    .description('a local page over all runs of a folder: states, curves, rollouts, as they go on')
    .option('-p, --port <number>', '0 = any free port', '0')
    .addOption(new Option('--beside').hideHelp())
    .addHelpText(
      'after',
      '\n[folder] is looked through to a depth of six; the current one if absent.',
    )
    .action(
      exitWith(async (folder: string | undefined, given: StudioArguments) => {
        const root = path.resolve(folder ?? '.');
        const found = await stat(root).catch(() => undefined);
        if (found?.isDirectory() !== true)
          throw new ConfigError(
            `There is no folder ${root}. Name a folder with runs; "trinity view" opens a configuration or a database.`,
            { code: 'RUN_MISSING' },
          );
        const { findRuns } = await import('@trinity-rft/inspect/studio');
        if ((await findRuns(root)).places.length === 0)
          write(`There is no run in ${root} yet; the page shows them as they start.\n\n`);
        return serveStudio(root, {}, given, write);
      }),
    );

export const addView: AddCommand = (program, { exitWith, write }) =>
  void withPlugins(program.command('view <run>'))
    .description('the rollouts of one run in the studio, also while the run is in progress')
    .option('-p, --port <number>', '0 = any free port', '0')
    .option(
      '--tokenizer <folder>',
      'model folder with the tokenizer of the records; found automatically if the run is complete',
    )
    .addHelpText('after', '\n<run> is a configuration, the folder of a run, or a database (.db).')
    .action(exitWith((run: string, given: ViewArguments) => viewRecords(run, given, write)));

/** Serves the rollouts of one run until Ctrl-C. */
export async function viewRecords(
  run: string,
  given: ViewArguments,
  write: Write,
): Promise<number> {
  const { findRecords } = await import('@trinity-rft/inspect');
  const found = await findRecords(run, pluginsOf(given));
  const places = found.map(({ database, modelFolder }): RunPlace => {
    const holder = path.dirname(database);
    const folder = path.basename(holder) === 'buffer' ? path.dirname(holder) : holder;
    const metricsFile = path.join(folder, 'monitor', 'metrics.jsonl');
    const model = given.tokenizer ?? modelFolder;
    return { id: database, folder, metricsFile, database, modelFolder: model };
  });
  const query = { page: 'rollouts', run: places[0]?.id ?? '' };
  return serveStudio(places, query, given, write);
}

/**
 * Serves the studio until Ctrl-C.
 * @param query parameters that select a page in the printed URL
 */
async function serveStudio(
  runs: string | readonly RunPlace[],
  query: Readonly<Record<string, string>>,
  { port, beside }: StudioArguments,
  write: Write,
): Promise<number> {
  const [{ openControl, pageFolder }, { openStudio }] = await Promise.all([
    import('@trinity-rft/studio'),
    import('@trinity-rft/inspect/studio'),
  ]);
  const key = keyIn(keyVariable);
  const parts = [openControl({ command: ownCommand() })];
  const studio = await openStudio({ runs, page: pageFolder(), port: portOf(port), key, parts });
  try {
    const names = typeof runs === 'string' ? runs : runs.map(({ id }) => id).join('\n');
    const page = Object.keys(query).length === 0 ? '' : `&${new URLSearchParams(query).toString()}`;
    write(`${names}\n\nOpen ${studio.url}${page}\nPress Ctrl-C to stop.\n`);
    await untilInterrupted();
  } finally {
    const hasRunEnded = beside === true && !process.connected && typeof runs === 'string';
    await studio.close(hasRunEnded ? await commandFor(runs) : undefined);
  }
  return exitCodes.done;
}

async function commandFor(folder: string): Promise<string> {
  const { shellPath } = await import('@trinity-rft/inspect');
  return `${typedCommand(process.env)} studio ${shellPath(folder)}`;
}

/**
 * Environment variable with the studio's key. If the user sets the key, an open page can reconnect
 * after a restart.
 */
const keyVariable = 'TRINITY_STUDIO_KEY';
