/** Environment of MiniWoB++ pages in a browser: https://miniwob.farama.org */
import { existsSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { ConfigError, describeError, TrinityError, TaskError } from '@trinity-rft/core';
import { z } from 'zod';
import { rowsOfSplit } from '../../native/splits.js';
import { defineEnvironment } from '../../seam/define.js';
import type { Environment, Episode, EpisodeStart } from '../../seam/types.js';
import { endsOnce } from '../../seam/ends-once.js';
import { createSlots } from '../shared/slots.js';
import { createStartCheck } from '../shared/starts.js';
import { broken, limitsOf, within } from '../../waiting/within.js';
import { type MiniwobArgs, miniwobArgs } from './args.js';
import { browserOf } from './browser.js';
import { miniwobEpisode, startTask, type Within } from './episode.js';

/**
 * Environment of web pages. The policy sees a page as numbered elements and refers to them by
 * number.
 */
export const miniwob = defineEnvironment<MiniwobArgs>({
  name: 'miniwob',
  description: 'Web pages of MiniWoB++ in Chromium: click, fill, select, press.',
  args: miniwobArgs,
  needs: () => ({ packages: ['playwright-core'] }),
  play: { maxTurns: 10, actionFormat: '```{action}```' },
  open: (args) => openMiniwob(args),
  tasks: (range, { task }) => rowsOfSplit(range, (seed) => ({ task, seed }), JSON.stringify),
});

/**
 * Opens the environment.
 * @throws ConfigError if the task has no page
 */
function openMiniwob(args: MiniwobArgs): Environment {
  pageOf(args, args.task);
  const [startMs, stepMs] = [args.start_timeout * 1000, args.timeout * 1000];
  const browser = browserOf(args.chromium, startMs);
  const slots = createSlots(args.max_pages);
  const checkStart = createStartCheck('MiniWoB');
  const inTime =
    (ms: number): Within =>
    (what, work, signal) =>
      within(
        { ms, signal },
        () => late(what, ms),
        () => failing(what, work),
      );

  async function begin(start: EpisodeStart, free: () => void): Promise<Episode> {
    const { task = args.task, seed = start.seed } = readRow(start);
    const address = pageOf(args, task);
    const page = await browser.page();
    const end = async (): Promise<void> => {
      free();
      await page.context().close();
    };
    try {
      await page.goto(address, { timeout: startMs });
      const open = { page, task, session: await page.context().newCDPSession(page) };
      const goal = await startTask(open, seed);
      const episode = await miniwobEpisode(open, goal, inTime(stepMs), end);
      if (args.check_starts) checkStart(start, episode.observation);
      return endsOnce(`The page of ${task}`, episode);
    } catch (error) {
      await end().catch(() => undefined);
      throw error;
    }
  }

  return {
    reset: async (start, signal) => {
      const free = await slots.take(start, { ms: startMs, signal }, () => late('page', startMs));
      let begun: Promise<Episode> | undefined;
      try {
        const work = () => (begun = begin(start, free));
        return await inTime(startMs)('reset', work, signal);
      } catch (error) {
        // Closes a page that opens after the deadline.
        void begun?.then((episode) => episode.close()).catch(() => undefined);
        free();
        throw error;
      }
    },
    close: () => browser.close(),
  };
}

/** Calls `work`, and converts errors of the browser to EnvironmentErrors. */
async function failing<T>(what: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    if (TrinityError.is(cause)) throw cause;
    throw broken(
      'ENVIRONMENT_SERVER',
      `The browser failed at "${what}": ${describeError(cause)}. It may have been killed, or lack memory.`,
      cause,
    );
  }
}

const late = (what: string, ms: number) =>
  broken(
    'ENVIRONMENT_DEADLINE',
    `The browser did not end "${what}" within ${ms / 1000} s. Lower environment_args.max_pages, or raise ${limitsOf(what === 'step' ? 'step' : 'start')}.`,
  );

/**
 * Returns the URL of a task's page.
 * @throws ConfigError if there is no such page
 */
function pageOf({ pages }: MiniwobArgs, task: string): string {
  const file = path.resolve(pages, 'miniwob', `${task}.html`);
  if (existsSync(file)) return pathToFileURL(file).href;
  throw new ConfigError(
    `There is no page ${file}. environment_args.pages is the folder "html" of the Python package miniwob (pip install miniwob), environment_args.task one of its pages, such as click-button.`,
    { code: 'ENVIRONMENT_ARGS' },
  );
}

const rowSchema = z.object({
  task: z
    .string()
    .regex(/^[\w-]+$/)
    .optional(),
  seed: z.int().min(0).optional(),
});

/**
 * Validates a row.
 * @throws TaskError if the row is invalid
 */
function readRow({ row }: EpisodeStart): z.infer<typeof rowSchema> {
  const read = rowSchema.safeParse(row);
  if (read.success) return read.data;
  throw new TaskError(
    `A task of miniwob may have "task", a page, and "seed": ${z.prettifyError(read.error)}`,
    { code: 'TASK_ROW' },
  );
}
