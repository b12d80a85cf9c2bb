import { type RawTask, deriveSeed, TaskError } from '@trinity-rft/core';
import { defineEnvironment, nativeEnvironment, rowsOfSplit } from '@trinity-rft/environment';
import { z } from 'zod';
import { textAction } from '../shared/actions.js';
import { readRow } from '../shared/row.js';
import { drawLake, type Lake, type LakeOptions, readLake, shortestPath } from './lake.js';
import { readPlayer, walk } from './world.js';

const defaultMaxSteps = 8;

const argsSchema = z
  .strictObject({
    /** Difficulty, by side length of the square lake. 1: 3 cells; 2: 4; 3: 6. */
    level: z.int().min(1).max(3).default(2),
    size: z.int().min(2).max(20).optional(),
    p: z.number().gt(0).max(1).default(0.8),
    env_max_steps: z
      .int()
      .min(1)
      .optional()
      .describe('Most steps from start to goal of a lake that is drawn. Default: 8.'),
    is_slippery: z.boolean().default(false),
    /** Lake to use in all tasks, as rows of S (start), F (ice), H (hole) and G (goal). */
    desc: z.array(z.string()).optional(),
  })
  .superRefine(({ desc, env_max_steps: steps }, context) => {
    if (desc !== undefined && steps !== undefined)
      context.addIssue({
        code: 'custom',
        path: ['env_max_steps'],
        message:
          'has no effect on the lake of desc, because it chooses among drawn lakes. Leave it out; max_turns (agent_max_steps of frozen_lake_workflow) limits the episode',
      });
  });
type Args = z.infer<typeof argsSchema>;

const sizes = [3, 4, 6];

/**
 * Environment in which the policy walks over a frozen lake to a goal, modelled on Gymnasium's
 * FrozenLake.
 */
export const frozenLake = defineEnvironment({
  name: 'frozen_lake',
  description: 'Walk over a frozen lake to the goal without falling into a hole.',
  args: argsSchema,
  play: { maxTurns: 10, actionFormat: '```{action}```', reward: 'sum' },
  open: (args) =>
    nativeEnvironment(({ row, seed }) =>
      walk(lakeOf(row, args), args.is_slippery ? deriveSeed(seed, 'slip') : undefined),
    ),
  tasks: (range, args) =>
    rowsOfSplit(
      range,
      (seed) => ({ size: sizeOf(args), p: args.p, seed }),
      (row) => [keyOf(lakeOf(row, args)), ...(args.desc ? [String(row['seed'])] : [])].join(' '),
    ),
  solver: ({ row }, args) => {
    const lake = lakeOf(row, args);
    return (observation) => {
      const step = shortestPath(lake, readPlayer(observation))?.[0];
      return step === undefined ? undefined : textAction(step);
    };
  },
});

const sizeOf = ({ size, level }: Args): number => size ?? sizes[level - 1] ?? 4;
const keyOf = ({ size, holes, start, goal }: Lake): string =>
  [size, start, goal, ...holes].join(' ');

function lakeOf(row: RawTask, args: Args): Lake {
  if (args.desc === undefined) return drawLake(optionsOf(row, args));
  const lake = readLake(args.desc);
  if (lake !== undefined) return lake;
  throw new TaskError(
    `environment_args.desc is no lake: ${JSON.stringify(args.desc)}. Write a square of S (start, one), G (goal, one), F (ice) and H (hole), one text for each row.`,
    { code: 'TASK_ROW' },
  );
}

function optionsOf(row: RawTask, args: Args): LakeOptions {
  const { size = sizeOf(args), p = args.p, seed } = readRow(rowSchema, row, 'frozen_lake');
  return { size, p, seed, envMaxSteps: args.env_max_steps ?? defaultMaxSteps };
}

const rowSchema = z.object({
  size: z.int().min(2).max(20).optional(),
  p: z.number().gt(0).max(1).optional(),
  seed: z.int().min(0),
});
