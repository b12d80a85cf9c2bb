/** Metrics over steps. */
import { z } from 'zod';
import { count, number, numberOrNull, type Routes } from './route.js';

export const metricInfo = z.object({
  role: z.string(),
  name: z.string(),
  points: count,
  last: numberOrNull,
  recent: z
    .object({ mean: numberOrNull, low: numberOrNull, high: numberOrNull, count })
    .describe('Mean of the latest values, at most 20, and its 95 % interval.'),
});

export const metricList = z.object({
  metrics: z.array(metricInfo),
  share: z.number().describe('Of the file that they are from: less than 1 while it is read.'),
});

/** Axes of curves. */
export const axes = ['step', 'time', 'tokens'] as const;

export const curve = z.object({
  role: z.string(),
  name: z.string(),
  axis: z.enum(axes),
  x: z
    .array(z.number())
    .describe(
      'Steps of the role, seconds of its steps so far, or tokens that its weights were trained on.',
    ),
  steps: z.array(z.number()),
  values: z.array(numberOrNull),
  low: z.array(numberOrNull).optional().describe('Lower ends of 95 % intervals, if recorded.'),
  high: z.array(numberOrNull).optional(),
  smoothed: z.array(numberOrNull).optional(),
  points: count.describe(
    'Points in the range. Where there are more than asked for, each share of them is told by its extremes.',
  ),
});

export const mark = z.object({
  kind: z.enum(['checkpoint', 'weights', 'evaluation', 'restart', 'failure']),
  x: z.number(),
  text: z.string().describe('Policy version; of a restart its time, of a failure its messages.'),
});

export const marks = z.object({
  marks: z.array(mark).describe('Of a kind with many, some.'),
  counts: z.record(z.string(), count).describe('By kind, of all.'),
});

const axis = z.enum(axes).optional().describe('`step` if absent.');
const metric = { role: z.string(), name: z.string().describe('Of the metric.') };

export const metricRoutes = {
  '/api/runs/{run}/metrics': {
    summary: 'Names of the metrics of a run, with their latest values.',
    query: {},
    answer: metricList,
  },
  '/api/runs/{run}/curve': {
    summary: 'A metric of a role, over an axis.',
    query: {
      ...metric,
      axis,
      from: number('On the axis.'),
      to: number('On the axis.'),
      smooth: number('Share of the value before that stays in the next, 0 to 0.999.'),
      points: number('At most so many, 2 to 10,000; 1,000 if absent.'),
    },
    answer: curve,
  },
  '/api/runs/{run}/marks': {
    summary: 'What happened in the run, on the axis of a role.',
    query: { role: z.string(), axis },
    answer: marks,
  },
  '/api/runs/{run}/curve.csv': {
    summary: 'All points of a metric.',
    query: metric,
    answer: z.string(),
    type: 'text/csv',
  },
} satisfies Routes;
