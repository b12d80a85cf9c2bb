/** Runs, and events about their changes. */
import { z } from 'zod';
import { count, numberOrNull, type Actions, type Routes } from './route.js';

export const runNotes = z.object({
  tags: z.array(z.string().trim().min(1).max(50)).max(20),
  note: z.string().max(10_000),
});

export const runSummary = z.object({
  id: z.string().describe('The path of its folder below the folder that is served.'),
  folder: z.string(),
  state: z
    .enum(['running', 'finished', 'stopped', 'failed', 'unknown'])
    .describe('`unknown`: nothing in the folder says how it ended.'),
  pid: z.int().optional().describe('The process that makes it now, on this machine.'),
  exploreStep: count.optional(),
  trainStep: count.optional(),
  version: z.int().optional().describe('Of the weights that explore.'),
  reward: z.number().optional().describe('Mean reward of the latest explore step.'),
  evaluation: z
    .object({
      metric: z.string(),
      mean: z.number(),
      low: z.number().optional().describe('Lower end of its 95 % interval.'),
      high: z.number().optional(),
    })
    .optional()
    .describe('Latest value of the first evaluation set.'),
  sparkline: z.array(numberOrNull).describe('Mean rewards from the first step to the latest.'),
  changedAt: z
    .number()
    .positive()
    .describe('When something was last written, in milliseconds since 1970.'),
  secondsPerStep: z.number().optional().describe('Mean over the latest steps.'),
  steps: z
    .object({ done: count, total: count })
    .optional()
    .describe(
      'Explore steps, or train steps where only those are counted. The total follows from the settings, or from the rows of their files and the epochs.',
    ),
  noTotal: z
    .enum(['noSettings', 'serves', 'dynamicSampling', 'dataElsewhere'])
    .optional()
    .describe('Why `steps` is absent.'),
  failure: z.string().optional().describe('Messages of failure.txt, causes included.'),
  rollouts: count.optional().describe('Recorded experiences; absent without a store.'),
  hasMetrics: z.boolean(),
  notes: runNotes.describe('From notes.json beside its files.'),
});

export const runEvent = z.object({
  runs: z.array(runSummary).describe('Those that changed; all of them in the first event.'),
  gone: z.array(z.string()).describe('Ids of runs whose folders are not there any more.'),
  left: count.describe(
    'Runs that are not listed: there are more than 2000, and others changed later.',
  ),
});

export const runSettings = z
  .record(z.string(), z.unknown())
  .describe('By the path of the key, `buffer.batch_size`; empty if none were recorded.');

export const runRoutes = {
  '/api/runs': {
    summary: 'The 2000 runs that changed last, the latest first.',
    query: {},
    answer: z.array(runSummary),
  },
  '/api/events': {
    summary: 'Runs as they change: server-sent events, the data of each as JSON.',
    query: {},
    answer: runEvent,
    type: 'text/event-stream',
  },
  '/api/runs/{run}/settings': {
    summary: 'The configuration of a run, without secrets, defaults included.',
    query: {},
    answer: runSettings,
  },
} satisfies Routes;

export const runActions = {
  '/api/actions/runs/{run}/notes': {
    summary: 'Replaces tags and note of a run: notes.json in its folder.',
    body: runNotes,
    answer: runNotes,
  },
} satisfies Actions;
