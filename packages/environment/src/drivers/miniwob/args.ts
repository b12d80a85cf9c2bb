/** `environment_args` of MiniWoB pages. */
import { z } from 'zod';

const seconds = z.number().positive();

export const miniwobArgs = z.strictObject({
  /** The folder `html` of the Python package miniwob. */
  pages: z.string().min(1),
  /** A page, such as click-button; a task's row may name another as `task`. */
  task: z.string().regex(/^[\w-]+$/),
  /** The program. Default: CHROMIUM_PATH, else where Linux and macOS put one. */
  chromium: z.string().min(1).optional(),
  /** Pages at once. */
  max_pages: z.int().positive().default(8),
  /** Seconds for an action. */
  timeout: seconds.default(30),
  /** Seconds for the browser, and for a page. */
  start_timeout: seconds.default(120),
});

export type MiniwobArgs = z.infer<typeof miniwobArgs>;
