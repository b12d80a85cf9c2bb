import type { RawTask } from '@trinity-rft/core';
import {
  defineEnvironment,
  nativeEnvironment,
  rowsOfSplit,
  type World,
} from '@trinity-rft/environment';
import { z } from 'zod';
import { playing, refuse, textAction } from '../shared/actions.js';
import { readRow } from '../shared/row.js';
import { readCommand } from './commands.js';
import { drawHouse, type House, sayGoal, taskTypes } from './house.js';
import { createHousehold, describeRoom } from './household.js';
import { instructions } from './instructions.js';
import { experts, planOf } from './solver.js';

const argsSchema = z.strictObject({
  /** Difficulty. 1: few objects, and only tasks of type 1; 2: more objects; 3: many objects. */
  level: z.int().min(1).max(3).default(2),
  /**
   * Task types by ALFWorld's numbers: 1 place, 2 look under a lamp, 3 clean, 4 heat, 5 cool, 6 two
   * objects.
   */
  task_types: z.array(z.int().min(1).max(6)).min(1).optional(),
  /** Reward of an episode that does not reach its goal. */
  unfinished_reward: z.number().default(0),
  /**
   * Solver that writes the demonstrations: `planner` knows where every object is, `search` looks
   * for it.
   */
  expert: z.enum(experts).default('planner'),
});
type Args = z.infer<typeof argsSchema>;

const rowSchema = z.object({
  seed: z.int().min(0),
  level: z.int().min(1).max(3).default(2),
  task_type: z.int().min(1).max(6).default(1),
});

/**
 * Household environment with ALFWorld's task types and commands (arXiv:2010.03768) in generated
 * rooms.
 */
export const household = defineEnvironment({
  name: 'household',
  description: 'Find things in a house, clean, heat or cool them, and put them where they belong.',
  args: argsSchema,
  rows: rowSchema,
  play: { maxTurns: 30, actionFormat: '<action>{action}</action>', reward: 'sum' },
  open: ({ unfinished_reward: unfinished }) =>
    nativeEnvironment(({ row }) => worldOf(houseOf(row), unfinished)),
  tasks: (range, args) =>
    rowsOfSplit(
      range,
      (seed) => ({ seed, level: args.level, task_type: typeOf(args, seed) }),
      (row) => contentOf(houseOf(row)),
    ),
  solver: ({ row }, { expert }) => playing(planOf(houseOf(row), expert).map(textAction)),
});

const typesOf = ({ level, task_types: given }: Args): readonly number[] =>
  given ?? (level === 1 ? [1] : [1, 2, 3, 4, 5, 6]);

function typeOf(args: Args, seed: number): number {
  const types = typesOf(args);
  return types[seed % types.length] ?? 1;
}

function houseOf(row: RawTask): House {
  const { seed, level, task_type: number } = readRow(rowSchema, row, 'household');
  return drawHouse({ seed, level, type: taskTypes[number - 1] ?? 'place' });
}

const contentOf = ({ goal, places, receptacles, lamp }: House): string =>
  JSON.stringify([goal, [...places], receptacles, lamp]);

function worldOf(house: House, unfinished: number): World {
  const state = createHousehold(house);
  return {
    instructions,
    observation: `${describeRoom(house)}\nYour task is to: ${sayGoal(house.goal)}`,
    step: (action) => {
      const command = action.type === 'text' ? readCommand(action.text) : undefined;
      const observation = command && state.act(command);
      if (observation === undefined) return refuse('Nothing happens.');
      const done = state.isDone();
      return { observation, reward: done ? 1 : 0, done };
    },
    grade: () => unfinished,
    stateKey: () => state.key(),
  };
}
