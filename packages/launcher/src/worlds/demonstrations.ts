/**
 * Generates demonstrations: conversations in which the solver of an environment solves tasks of
 * this environment.
 */
import { ConfigError } from '@trinity-rft/core';
import { demonstrate, type Demonstration, type SplitName } from '../outer/outer.js';
import { openWorld, type WorldOptions } from './open-world.js';

export interface DemonstrationOptions extends WorldOptions {
  /** Split from which tasks are generated. @default 'train' */
  readonly split?: SplitName;
  readonly count: number;
  /** Seed for task generation. @default 0 */
  readonly seed?: number;
  /** Maximum number of turns per conversation. @default the maximum of the environment, or 20 */
  readonly maxTurns?: number;
}

/**
 * Yields one conversation per task, in order.
 * @throws ConfigError when the environment has no solver
 */
export async function* solveTasks(options: DemonstrationOptions): AsyncGenerator<Demonstration> {
  const { name, split = 'train', count, seed = 0 } = options;
  const world = await openWorld(options);
  const { definition, args } = world;
  const { maxTurns = definition.play.maxTurns ?? 20 } = options;
  try {
    if (definition.solver === undefined) throw noSolver(name);
    for (const row of world.tasks(split, count, seed)) {
      const { episode, seed: start } = await world.begin(row);
      try {
        yield await demonstrate(episode, { definition, args, row, seed: start, maxTurns });
      } finally {
        await episode.close();
      }
    }
  } finally {
    await world.close();
  }
}

const noSolver = (name: string): ConfigError =>
  new ConfigError(`Environment "${name}" has no solver. Choose one that has: trinity env list`, {
    code: 'NO_SOLVER',
  });
