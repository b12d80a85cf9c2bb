/** The routes of the interface. All read, all need the key. */
import { z } from 'zod';
import * as schemas from './schemas.js';

/** Orders of the list of rollouts. */
export const sortKeys = [
  'id',
  'reward',
  'advantage',
  'promptTokens',
  'responseTokens',
  'policyVersion',
  'staleness',
  'step',
] as const;

const text = (description: string) => z.string().optional().describe(description);
const number = (description: string) => z.number().optional().describe(description);

const metric = { role: z.string(), name: z.string().describe('Of the metric.') };

export interface Route {
  readonly summary: string;
  /** Of the query string. */
  readonly query: Readonly<Record<string, z.ZodType>>;
  readonly answer: z.ZodType;
  /** @default application/json */
  readonly type?: string;
}

export const routes = {
  '/api/runs': {
    summary: 'All runs, the one that changed last first.',
    query: {},
    answer: z.array(schemas.runSummary),
  },
  '/api/events': {
    summary: 'Runs as they change: server-sent events, the data of each as JSON.',
    query: {},
    answer: schemas.runEvent,
    type: 'text/event-stream',
  },
  '/api/runs/{run}/metrics': {
    summary: 'Names of the metrics of a run, with their latest values.',
    query: {},
    answer: z.array(schemas.metricInfo),
  },
  '/api/runs/{run}/curve': {
    summary: 'A metric over the steps of its role.',
    query: {
      ...metric,
      from: number('First step.'),
      to: number('Last step.'),
      points: number('At most so many, 2 to 10,000; 1,000 if absent.'),
    },
    answer: schemas.curve,
  },
  '/api/runs/{run}/curve.csv': {
    summary: 'All points of a metric.',
    query: metric,
    answer: z.string(),
    type: 'text/csv',
  },
  '/api/runs/{run}/rollouts': {
    summary: 'Recorded experiences: filtered, in an order, one page.',
    query: {
      batch: text('Explore step.'),
      task: text('Place of the task in it.'),
      run: number('Attempt at the task.'),
      minReward: number('Least reward.'),
      maxReward: number('Largest reward.'),
      minVersion: number('Oldest policy version.'),
      maxVersion: number('Newest policy version.'),
      text: text('Part of what was read or written, in any case.'),
      sort: z.enum(sortKeys).optional(),
      descending: z.enum(['true', 'false']).optional(),
      page: number('From 0.'),
      size: number('Rows of a page, 1 to 200; 50 if absent.'),
    },
    answer: schemas.rolloutPage,
  },
  '/api/runs/{run}/rollouts/{id}': {
    summary: 'One experience, token by token.',
    query: {},
    answer: schemas.rolloutDetail,
  },
} satisfies Readonly<Record<string, Route>>;
