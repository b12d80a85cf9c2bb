/** Metrics over steps. */
import { z } from 'zod';
import { count, number, numberOrNull, type Routes } from './route.js';

export const metricInfo = z.object({
  role: z.string(),
  name: z.string(),
  points: count,
  last: numberOrNull,
});

export const curve = z.object({
  role: z.string(),
  name: z.string(),
  steps: z.array(z.number()),
  values: z.array(numberOrNull),
  points: count.describe(
    'Points in the range. Where there are more than asked for, each share of them is told by its extremes.',
  ),
});

const metric = { role: z.string(), name: z.string().describe('Of the metric.') };

export const metricRoutes = {
  '/api/runs/{run}/metrics': {
    summary: 'Names of the metrics of a run, with their latest values.',
    query: {},
    answer: z.array(metricInfo),
  },
  '/api/runs/{run}/curve': {
    summary: 'A metric over the steps of its role.',
    query: {
      ...metric,
      from: number('First step.'),
      to: number('Last step.'),
      points: number('At most so many, 2 to 10,000; 1,000 if absent.'),
    },
    answer: curve,
  },
  '/api/runs/{run}/curve.csv': {
    summary: 'All points of a metric.',
    query: metric,
    answer: z.string(),
    type: 'text/csv',
  },
} satisfies Routes;
