/** `environment_args` of Python environments. */
import { z } from 'zod';
import { checkStarts } from '../shared/starts.js';

const seconds = z.number().positive();

export const pythonArgs = z.strictObject({
  kind: z
    .union(
      [
        z.enum(['gymnasium', 'textarena', 'reasoning_gym', 'textworld', 'scienceworld']),
        z.string().regex(/^[\w.]+:\w+$/),
      ],
      {
        error:
          'Write gymnasium, textarena, reasoning_gym, textworld, scienceworld, or MODULE:FUNCTION.',
      },
    )
    .describe(
      'gymnasium (actions that are Discrete or Text), textarena, reasoning_gym, textworld or scienceworld; MODULE:FUNCTION: a function or class of your own.',
    ),
  name: z
    .string()
    .min(1)
    .optional()
    .describe(
      'Which of them: FrozenLake-v0, countdown, find-living-thing, tw-simple, a game file.',
    ),
  config: z.record(z.string(), z.json()).default({}).describe('Passed to it by keyword.'),
  python: z
    .string()
    .min(1)
    .default('python3')
    .describe('The program, of an environment that has the packages.'),
  path: z.string().min(1).default('.').describe('Folder that modules are imported from.'),
  processes: z.int().positive().default(1).describe('Processes; each takes one step at a time.'),
  instructions: z.string().optional().describe('System prompt.'),
  timeout: seconds.default(120).describe('Seconds for a step.'),
  start_timeout: seconds
    .default(300)
    .describe('Seconds for the start of a process, and for a reset.'),
  check_starts: checkStarts,
});

export type PythonArgs = z.infer<typeof pythonArgs>;
