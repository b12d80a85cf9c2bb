/** Recorded experiences. */
import { z } from 'zod';
import { count, number, text, type Routes } from './route.js';

export const rolloutRow = z.object({
  id: z.int().describe('Row of the store, from 1.'),
  uid: z.string(),
  batch: z.string(),
  task: z.string(),
  run: z.int(),
  step: z.int(),
  reward: z.number().optional(),
  advantage: z.number().optional().describe('Mean over its trained tokens.'),
  policyVersion: z.int(),
  staleness: z.int().optional().describe('Train steps from its version to the step that used it.'),
  promptTokens: count,
  responseTokens: count,
  trainedTokens: count,
  finishReason: z.string().optional(),
  truncated: z.string().optional(),
  fork: z.string().optional(),
  trainStep: z.int().optional().describe('The train step that used it.'),
  dropped: z.boolean().optional().describe('That step dropped it as too old.'),
});

export const listedRollout = rolloutRow.extend({
  question: z.string().describe('The end of what the model read.'),
  answer: z.string().describe('The beginning of what it wrote.'),
});

export const rolloutPage = z.object({
  rows: z.array(listedRollout),
  matching: count.describe('Rows that pass the filter.'),
  total: count.describe('Rows in the store.'),
});

export const tokenDetail = z.object({
  id: z.int(),
  text: z
    .string()
    .nullable()
    .describe(
      'Null without a tokenizer. The last of several tokens has the character that they share.',
    ),
  mask: z
    .int()
    .optional()
    .describe('1 = sampled and trained on. Absent in the prompt, as are the numbers.'),
  logprob: z.number().optional(),
  advantage: z.number().optional(),
  tokenReward: z.number().optional(),
});

const callSpan = z.object({
  start: count,
  end: count,
  step: z.int(),
  policyVersion: z.int(),
  reward: z.number().optional(),
});

export const rolloutDetail = z.object({
  id: z.int(),
  uid: z.string(),
  batch: z.string(),
  task: z.string(),
  run: z.int(),
  reward: z.number().optional(),
  policyVersion: z.int(),
  truncated: z.string().optional(),
  promptLength: count,
  temperature: z.number(),
  promptText: z.string().optional(),
  responseText: z.string().optional(),
  tokens: z.array(tokenDetail),
  spans: z.array(callSpan).optional().describe('The model calls, if it holds several.'),
  metrics: z.record(z.string(), z.number()),
  info: z.record(z.string(), z.unknown()),
});

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

export const rolloutRoutes = {
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
    answer: rolloutPage,
  },
  '/api/runs/{run}/rollouts/{id}': {
    summary: 'One experience, token by token.',
    query: {},
    answer: rolloutDetail,
  },
} satisfies Routes;
