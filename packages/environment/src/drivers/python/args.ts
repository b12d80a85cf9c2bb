/** `environment_args` of Python environments. */
import { z } from 'zod';

const seconds = z.number().positive();

export const pythonArgs = z.strictObject({
  /** `MODULE:FUNCTION`: a function, or class, of the user's own. */
  kind: z.union(
    [
      z.enum(['gymnasium', 'textarena', 'reasoning_gym', 'textworld', 'scienceworld']),
      z.string().regex(/^[\w.]+:\w+$/),
    ],
    {
      error:
        'Write gymnasium, textarena, reasoning_gym, textworld, scienceworld, or MODULE:FUNCTION.',
    },
  ),
  /** Which of them: FrozenLake-v0, countdown, find-living-thing, tw-simple, a game file. */
  name: z.string().min(1).optional(),
  /** Passed to it by keyword. */
  config: z.record(z.string(), z.json()).default({}),
  /** The program, of an environment that has the packages. */
  python: z.string().min(1).default('python3'),
  /** Folder that modules are imported from. */
  path: z.string().min(1).default('.'),
  /** Processes; each takes one step at a time. */
  processes: z.int().positive().default(1),
  /** System prompt. */
  instructions: z.string().optional(),
  /** Seconds for a step. */
  timeout: seconds.default(120),
  /** Seconds for the start of a process, and for a reset. */
  start_timeout: seconds.default(300),
  /** Equal tasks and seeds must give equal first observations. */
  check_starts: z.boolean().default(true),
});

export type PythonArgs = z.infer<typeof pythonArgs>;
