/** `environment_args` of MiniWoB pages. */
import { z } from 'zod';
import { checkStarts } from '../shared/starts.js';

const seconds = z.number().positive();

export const miniwobArgs = z.strictObject({
  pages: z.string().min(1).describe('The folder html of the Python package miniwob.'),
  task: z
    .string()
    .regex(/^[\w-]+$/)
    .describe("A page, such as click-button; a task's row may name another as task."),
  chromium: z
    .string()
    .min(1)
    .optional()
    .describe('The program. Default: CHROMIUM_PATH, else where Linux and macOS put one.'),
  max_pages: z.int().positive().default(8).describe('Pages at once.'),
  timeout: seconds.default(30).describe('Seconds for an action.'),
  start_timeout: seconds.default(120).describe('Seconds for the browser, and for a page.'),
  check_starts: checkStarts,
});

export type MiniwobArgs = z.infer<typeof miniwobArgs>;
