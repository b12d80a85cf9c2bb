/** Schemas and routes of runs, and of events about their changes. */
import { z } from 'zod';
import { count, numberOrNull, type Actions, type Routes } from './route.js';

export const runNotes = z.object({
  tags: z.array(z.string().trim().min(1).max(50)).max(20),
  note: z.string().max(10_000),
});

export const runSummary = z.object({
  id: z.string().describe('Path of its folder, relative to the served folder.'),
  folder: z.string(),
  state: z
    .enum(['running', 'finished', 'stopped', 'failed', 'unknown'])
    .describe('`unknown`: the folder does not show how it ended.'),
  pid: z.int().optional().describe('Id of its process on this machine, while it runs.'),
  exploreStep: count.optional(),
  trainStep: count.optional(),
  version: z.int().optional().describe('Version of the weights that explore.'),
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
  changedAt: z.number().positive().describe('Time of the last write, in milliseconds since 1970.'),
  secondsPerStep: z.number().optional().describe('Mean over the latest steps.'),
  steps: z
    .object({ done: count, total: count })
    .optional()
    .describe(
      'Explore steps, or train steps if only those are counted; none are done before the first train step of a run that trains. The total follows from the settings, or from the rows of the task files and the epochs.',
    ),
  noTotal: z
    .enum(['noSettings', 'serves', 'dynamicSampling', 'dataElsewhere'])
    .optional()
    .describe('Reason why `steps` is absent.'),
  failure: z.string().optional().describe('Messages of failure.txt, causes included.'),
  modelCalls: count
    .optional()
    .describe('Recorded model calls, one or several per rollout; absent without a store.'),
  hasMetrics: z.boolean(),
  notes: runNotes.describe('Tags and note in notes.json.'),
});

export const runEvent = z.object({
  runs: z.array(runSummary).describe('Changed runs; the first event has all runs.'),
  gone: z.array(z.string()).describe('Ids of runs whose folders were removed.'),
  left: count.describe('Number of runs beyond the 2000 that changed last, which are not listed.'),
  ended: z
    .string()
    .optional()
    .describe(
      'Command that opens the studio again. This is its last event: the studio ends with the run that it was started beside.',
    ),
});

export const runSettings = z
  .record(z.string(), z.unknown())
  .describe('Settings by path, such as `buffer.batch_size`; empty if none were recorded.');

export const runRoutes = {
  '/api/runs': {
    summary: 'The 2000 runs that changed last, the latest first.',
    query: {},
    answer: z.array(runSummary),
  },
  '/api/events': {
    summary: 'Changes of runs, as server-sent events with JSON data.',
    query: {},
    answer: runEvent,
    type: 'text/event-stream',
  },
  '/api/runs/{run}/settings': {
    summary: 'Configuration of a run, with defaults and without secrets.',
    query: {},
    answer: runSettings,
  },
} satisfies Routes;

export const runActions = {
  '/api/actions/runs/{run}/notes': {
    summary: 'Replaces tags and note of a run, in notes.json of its folder.',
    body: runNotes,
    answer: runNotes,
  },
} satisfies Actions;
