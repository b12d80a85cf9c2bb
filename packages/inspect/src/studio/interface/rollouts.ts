/** Recorded experiences. */
import { z } from 'zod';
import { count, number, text, type Routes } from './route.js';

const head = z.object({
  id: z.int().describe('Row of the store, from 1.'),
  uid: z.string(),
  batch: z.string().describe('Explore step.'),
  task: z.string().describe('Place of the task in it.'),
  run: z.int().describe('Attempt at the task.'),
  reward: z.number().optional(),
  policyVersion: z.int(),
  taskset: z.string().optional(),
  row: z.int().optional().describe('Of the task in its task set.'),
  truth: z.string().optional().describe('The expected answer, if the task has one.'),
});

export const rolloutRow = head.extend({
  step: z.int().describe('Model call of the attempt; of several, the last.'),
  calls: count.describe('Model calls that it holds.'),
  advantage: z
    .number()
    .optional()
    .describe(
      'Mean over its trained tokens: of the last train step that computed one, else stored.',
    ),
  staleness: z.int().optional().describe('Train steps from its version to the step that used it.'),
  promptTokens: count,
  responseTokens: count,
  trainedTokens: count,
  toolCalls: count,
  finishReason: z.string().optional(),
  truncated: z.string().optional(),
  fork: z.string().optional().describe('Why its conversation left the recorded tokens.'),
  problem: z
    .string()
    .optional()
    .describe('A fault of the model, a failure, or that it was cut off.'),
  trainStep: z.int().optional().describe('The last train step that used it.'),
  dropped: z.boolean().optional().describe('That step dropped it, as too old or one too many.'),
});

export const listedRollout = rolloutRow.extend({
  question: z.string().describe('What the user asked last.'),
  answer: z.string().describe('The beginning of what it wrote.'),
});

const progress = z
  .object({ done: count, of: count })
  .optional()
  .describe('Rows that were looked at so far: ask again. Absent when it is complete.');

export const rolloutPage = z.object({
  rows: z.array(listedRollout),
  matching: count.describe('Rows that pass the filter.'),
  total: count.describe('Rows in the store.'),
  upTo: count.describe('Newest row of this list, to ask for its other pages with.'),
  progress,
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
  teacherLogprob: z.number().optional(),
});

const callSpan = z.object({
  start: count,
  end: count,
  step: z.int(),
  policyVersion: z.int(),
  reward: z.number().optional(),
});

const use = z.object({
  trainStep: z.int(),
  dropped: z.boolean(),
  advantage: z.number().optional(),
});

export const rolloutDetail = head.extend({
  truncated: z.string().optional(),
  problem: z.string().optional(),
  promptLength: count,
  temperature: z.number(),
  promptText: z.string().optional(),
  responseText: z.string().optional(),
  tokens: z.array(tokenDetail),
  spans: z.array(callSpan).optional().describe('The model calls, if it holds several.'),
  uses: z.array(use).describe('Train steps that used it, oldest first.'),
  advantagesOf: z
    .enum(['trainer', 'explorer'])
    .optional()
    .describe('The part that computed the advantages of the tokens; absent if there are none.'),
  metrics: z.record(z.string(), z.number()),
  info: z.record(z.string(), z.unknown()),
});

const numbers = z.array(z.number().nullable()).optional();

/** Consecutive tokens that were either all read or all written. */
const segment = z.object({
  sampled: z.boolean().describe('The model wrote it and is trained on it.'),
  policyVersion: z.int().optional().describe('Of the weights that wrote it.'),
  start: count.describe('Place of its first token in the sequence.'),
  ids: z.array(z.int()),
  texts: z.array(z.string()).optional().describe('Absent without a tokenizer.'),
  logprobs: numbers,
  advantages: numbers,
  tokenRewards: numbers,
  teacherLogprobs: numbers,
});

const call = z.object({
  id: z.int(),
  uid: z.string(),
  step: z.int(),
  policyVersion: z.int(),
  reward: z.number().optional(),
  finishReason: z.string().optional(),
  problem: z.string().optional(),
  toolCalls: count,
  beginning: z
    .enum(['new', 'spliced', 'forked'])
    .describe(
      '`spliced`: the prompt begins with exactly the tokens of an earlier call. `forked`: it belongs to an earlier call and does not.',
    ),
  after: z.int().optional().describe('Row of that earlier call.'),
  same: count.describe('Leading tokens that are those of the earlier call, and left out here.'),
  fork: z.string().optional().describe('Why, as the recorder saw it.'),
  segments: z.array(segment),
});

export const conversation = z.object({
  batch: z.string(),
  task: z.string(),
  run: z.int(),
  calls: z.array(call).describe('Of one attempt, in order.'),
  advantagesOf: rolloutDetail.shape.advantagesOf,
  failure: z.string().optional().describe('Of the attempt, from the log.'),
});

const attempt = z.object({
  run: z.int(),
  reward: z.number().optional(),
  advantage: z.number().optional(),
  policyVersion: z.int(),
  responseTokens: count,
  toolCalls: count,
  problem: z.string().optional(),
  calls: z
    .array(z.object({ id: z.int(), step: z.int(), text: z.string() }))
    .describe('What the model wrote, call by call.'),
});

export const group = z.object({
  batch: z.string(),
  task: z.string(),
  taskset: z.string().optional(),
  row: z.int().optional(),
  question: z.string(),
  attempts: z.array(attempt).describe('Best first.'),
  missing: z
    .array(z.object({ run: z.int(), failure: z.string() }))
    .describe('Attempts without a record, and why, from the log.'),
});

const answer = z.object({ id: z.int(), reward: z.number().optional(), text: z.string() });

export const taskHistory = z.object({
  taskset: z.string().optional(),
  row: z.int().optional().describe('Without it, nothing says which rollouts are of the same task.'),
  question: z.string(),
  times: z
    .array(
      z.object({
        batch: z.string(),
        policyVersion: z.int(),
        attempts: count,
        meanReward: z.number().optional(),
        best: answer,
        worst: answer,
      }),
    )
    .describe('Explore steps with this task, oldest first.'),
  left: count.describe('Explore steps between them that are left out.'),
  progress,
});

const taskRow = z.object({
  id: z.int().describe('Row of the store: its first rollout.'),
  taskset: z.string().optional(),
  row: z.int().optional().describe('Of the task in its task set.'),
  question: z.string(),
  times: count.describe('Explore steps that had it.'),
  first: z.number().optional().describe('Mean reward of its attempts in the first of them.'),
  latest: z.number().optional().describe('The same in the latest one.'),
  change: z.number().optional().describe('`latest` - `first`, where it came more than once.'),
});

export const taskPage = z.object({
  rows: z.array(taskRow),
  tasks: count.describe('All, of which the records say the row of the task set.'),
  better: count.describe(
    'Those with a higher reward in their latest explore step than in the first.',
  ),
  worse: count,
  same: count.describe('Those that came more than once, without a change.'),
  progress,
});

/** Sort keys of the list of tasks. */
export const taskSortKeys = ['change', 'first', 'latest', 'times'] as const;

/** Sort keys of the list of rollouts. */
export const sortKeys = [
  'id',
  'reward',
  'advantage',
  'promptTokens',
  'responseTokens',
  'toolCalls',
  'policyVersion',
  'staleness',
  'step',
] as const;

/** Numbers that a filter can limit with `min` and `max`. */
export const rangeKeys = [
  'reward',
  'advantage',
  'policyVersion',
  'staleness',
  'responseTokens',
  'toolCalls',
] as const;

export const rolloutRoutes = {
  '/api/runs/{run}/rollouts': {
    summary: 'Recorded experiences: filtered, in an order, one page.',
    query: {
      batch: text('Explore step.'),
      task: text('Place of the task in it.'),
      run: number('Attempt at the task.'),
      taskset: text('Name of the task set.'),
      row: number('Of the task in its task set.'),
      minReward: number('Least reward.'),
      maxReward: number('Largest reward.'),
      minAdvantage: number('Least advantage.'),
      maxAdvantage: number('Largest advantage.'),
      minVersion: number('Oldest policy version.'),
      maxVersion: number('Newest policy version.'),
      minStaleness: number('Least staleness.'),
      maxStaleness: number('Largest staleness.'),
      minResponseTokens: number('Fewest tokens written.'),
      maxResponseTokens: number('Most tokens written.'),
      minToolCalls: number('Fewest tool calls.'),
      maxToolCalls: number('Most tool calls.'),
      problem: z.enum(['true', 'false']).optional().describe('Only rows with a problem.'),
      text: text('Part of what was read or written, in any case.'),
      sort: z.enum(sortKeys).optional(),
      descending: z.enum(['true', 'false']).optional(),
      page: number('From 0.'),
      size: number('Rows of a page, 1 to 200; 50 if absent.'),
      upTo: number('As answered with an earlier page of the list: later rows count as not there.'),
    },
    answer: rolloutPage,
  },
  '/api/runs/{run}/tasks': {
    summary: 'Tasks, with what their attempts got first and get now, one page.',
    query: {
      sort: z.enum(taskSortKeys).optional().describe('`change` if absent.'),
      descending: z.enum(['true', 'false']).optional(),
      page: number('From 0.'),
      size: number('Tasks of a page, 1 to 200; 50 if absent.'),
    },
    answer: taskPage,
  },
  '/api/runs/{run}/rollouts/{id}': {
    summary: 'One experience, token by token.',
    query: {},
    answer: rolloutDetail,
  },
  '/api/runs/{run}/rollouts/{id}/conversation': {
    summary: 'All model calls of the attempt that an experience belongs to.',
    query: {},
    answer: conversation,
  },
  '/api/runs/{run}/rollouts/{id}/group': {
    summary: 'All attempts at its task in its explore step, best first.',
    query: {},
    answer: group,
  },
  '/api/runs/{run}/rollouts/{id}/history': {
    summary: 'How its task was answered in each explore step that had it.',
    query: {},
    answer: taskHistory,
  },
} satisfies Routes;
