/** Schemas and routes of metrics. */
import { z } from 'zod';
import { count, number, numberOrNull, type Routes } from './route.js';

export const metricInfo = z.object({
  role: z.string(),
  name: z.string(),
  points: count,
  last: numberOrNull.describe('Latest value; null if it is not finite.'),
  recent: z
    .object({ mean: numberOrNull, low: numberOrNull, high: numberOrNull, count })
    .describe(
      'Mean and number of the finite values among the latest 20, and the 95 % interval of the mean. Null if none is finite.',
    ),
});

export const metricList = z.object({
  metrics: z.array(metricInfo),
  share: z.number().describe('Share of the file that was read; less than 1 while it is read.'),
});

/** Quantities that the x axis of a curve can show. */
export const axes = ['step', 'time', 'tokens'] as const;

export const curve = z.object({
  role: z.string(),
  name: z.string(),
  axis: z.enum(axes),
  x: z
    .array(z.number())
    .describe(
      'Steps of the role, total seconds of its steps, or tokens that its weights were trained on.',
    ),
  steps: z.array(z.number()),
  values: z
    .array(numberOrNull)
    .describe(
      'Null if not finite. The mean of the finite values where several steps have the same place on the axis.',
    ),
  low: z.array(numberOrNull).optional().describe('Lower ends of 95 % intervals, if recorded.'),
  high: z.array(numberOrNull).optional(),
  smoothed: z.array(numberOrNull).optional(),
  points: count.describe(
    'Number of points in the range. More than requested are downsampled to min/max per bucket and the last point.',
  ),
  notFiniteSince: z
    .number()
    .optional()
    .describe('Step since which no value is finite; absent if the latest value is finite.'),
});

export const mark = z.object({
  kind: z.enum(['checkpoint', 'weights', 'evaluation', 'restart', 'failure']),
  x: z.number(),
  text: z.string().describe('Policy version; for a restart its time, for a failure its messages.'),
});

export const marks = z.object({
  marks: z.array(mark).describe('Events, thinned out to at most 200 per kind.'),
  counts: z.record(z.string(), count).describe('Number of all events by kind.'),
});

const axis = z.enum(axes).optional().describe('`step` if absent.');
const metric = { role: z.string(), name: z.string().describe('Name of the metric.') };

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
      from: number('Start of the range on the axis.'),
      to: number('End of the range on the axis.'),
      smooth: number('Weight of the previous value in the moving average, 0 to 0.999.'),
      points: number('Maximum number of points, 4 to 10,000; 1,000 if absent.'),
    },
    answer: curve,
  },
  '/api/runs/{run}/marks': {
    summary: 'Events of the run, on the axis of a role.',
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
