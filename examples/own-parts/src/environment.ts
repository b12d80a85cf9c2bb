/**
 * Custom environment driver that plays games that are JavaScript modules, named by `environment_args.module`. A module
 * exports `start(row, seed)`, which returns the first observation and `move(text)`.
 */
import { pathToFileURL } from 'node:url';
import { EnvironmentError } from '@trinity-rft/core';
import { defineEnvironment } from '@trinity-rft/environment';

/** Exports of a module with a game. */
export interface Game {
  start(
    row: Readonly<Record<string, unknown>>,
    seed: number,
  ): {
    readonly observation: string;
    move(text: string): { observation: string; reward?: number; done: boolean };
  };
}

export const moduleGames = defineEnvironment<{ readonly module?: string }>({
  name: 'module_games',
  description: 'Games that are JavaScript modules.',
  play: { maxTurns: 2 },
  open: async ({ module = '' }) => {
    const game = (await import(pathToFileURL(module).href).catch((cause: unknown) => {
      throw new EnvironmentError(`The game ${module} cannot be loaded.`, {
        code: 'ENVIRONMENT_START',
        cause,
      });
    })) as Game;
    return {
      reset: async ({ row, seed }) => {
        const play = game.start(row, seed);
        return {
          observation: play.observation,
          step: async (action) => play.move(action.type === 'text' ? action.text : action.name),
          close: async () => undefined,
        };
      },
      close: async () => undefined,
    };
  },
  tasks: ({ count }) => Array.from({ length: count }, (_, task) => ({ task })),
});
