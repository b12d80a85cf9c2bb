/** `trinity env play`: a user plays an environment in the terminal. */
import { createInterface } from 'node:readline';
import type { Command } from 'commander';
import type { openWorld } from '@trinity-rft/launcher/parts';
import { refuseUnused } from '../../shared/arguments.js';
import type { AddCommand } from '../../shared/command.js';
import { exitCodes } from '../../shared/exit-codes.js';
import { playByHand } from './play-by-hand.js';
import { objectOf, seedOf, splitOf, withTasks, worldOf, type TaskArguments } from './options.js';

interface PlayArguments extends TaskArguments {
  readonly row?: string;
}

export const addPlay: AddCommand = (env, { exitWith, write }) =>
  void withTasks(env.command('play <name>'))
    .description('play an environment by hand: a line is an action; an empty one ends it')
    .option('--row <json>', 'a task of your own; by default the first that it generates')
    .action(
      exitWith(async (name: string, given: PlayArguments, command: Command) => {
        if (given.row !== undefined) refuseUnused(command, 'with --row', '--split', '--seed');
        const { openWorld } = await import('@trinity-rft/launcher/parts');
        const world = await openWorld(worldOf(name, given));
        try {
          const row =
            given.row === undefined
              ? (world.tasks(splitOf(given), 1, seedOf(given))[0] ?? {})
              : objectOf('--row', given.row);
          write(unknownKeys(row, world));
          const { episode } = await world.begin(row);
          const lines = createInterface({ input: process.stdin });
          try {
            await playByHand(episode, lines, write);
          } finally {
            await episode.close();
          }
          return exitCodes.done;
        } finally {
          await world.close();
        }
      }),
    );

type World = Awaited<ReturnType<typeof openWorld>>;

/**
 * Returns a warning if the row has keys that generated tasks do not have; otherwise an empty
 * string.
 */
export function unknownKeys(row: Readonly<Record<string, unknown>>, world: World): string {
  if (world.definition.tasks === undefined) return '';
  const known = Object.keys(world.tasks('train', 1, 0)[0] ?? {});
  const unknown = Object.keys(row).filter((key) => !known.includes(key));
  return unknown.length === 0
    ? ''
    : `--row has ${unknown.join(', ')}, which its own tasks do not have (they have ${known.join(', ')}).\n\n`;
}
