/** What the interface answers, as schemas: types are inferred from them, and the OpenAPI file is made of them. */
import { z } from 'zod';

const count = z.int().min(0);
const numberOrNull = z.number().nullable();

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
  sparkline: z.array(numberOrNull).describe('Mean rewards from the first step to the latest.'),
  changedAt: z.number().describe('When something was last written, in milliseconds since 1970.'),
  secondsPerStep: z.number().optional().describe('Mean over the latest train steps.'),
  failure: z.string().optional().describe('First line of failure.txt.'),
  rollouts: count.optional().describe('Recorded experiences; absent without a store.'),
  hasMetrics: z.boolean(),
});

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

export const problem = z.object({ error: z.string() });

export const runEvent = z.object({
  runs: z.array(runSummary).describe('Those that changed; all of them in the first event.'),
  gone: z.array(z.string()).describe('Ids of runs whose folders are not there any more.'),
});
