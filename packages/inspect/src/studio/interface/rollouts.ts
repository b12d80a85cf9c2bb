/** Recorded rollouts. */
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

/** Kinds of problems, the worst first. */
export const problemKinds = ['failed', 'fault', 'truncated', 'dropped'] as const;

export const rollout = z.object({
  id: z.int().describe('Row of the store with its first model call.'),
  rows: z.array(z.int()).describe('All its rows, in the order of the calls.'),
  batch: head.shape.batch,
  task: head.shape.task,
  run: head.shape.run,
  step: z
    .int()
    .optional()
    .describe('Explore step, or for evaluations the train step of the evaluated weights.'),
  taskset: head.shape.taskset,
  row: head.shape.row,
  truth: head.shape.truth,
  question: z.string().describe('Text with which the user asked; in lists its end.'),
  answer: z.string().describe('Text of the last call; in lists its beginning.'),
  reward: z.number().optional().describe('Of the last call.'),
  parts: z.record(z.string(), z.number()).describe('Parts of the reward, by their names.'),
  reasons: z.record(z.string(), z.string()).describe('Reasons of the parts, where there are any.'),
  advantage: z
    .number()
    .optional()
    .describe(
      'Mean over the trained tokens, then the calls: of the last train step that computed one, else stored.',
    ),
  policyVersion: z.int().describe('Version of the weights that wrote the last call.'),
  staleness: z
    .int()
    .optional()
    .describe('Most train steps from the version of a call to the step that used it.'),
  trainStep: z.int().optional().describe('The last train step that used it.'),
  turns: count.describe('Model calls.'),
  toolCalls: count,
  tools: z.array(z.string()).describe('Names of the called tools, as far as they are known.'),
  promptTokens: count.describe('Sum over the calls.'),
  responseTokens: count.describe('Sum over the calls.'),
  startedAt: z.number().optional().describe('Milliseconds since the epoch.'),
  seconds: z
    .number()
    .optional()
    .describe('From the start of the first call to the end of the last one.'),
  problem: z.string().optional(),
  problemKind: z
    .enum(problemKinds)
    .optional()
    .describe(
      '`failed`: got the failure reward. `fault`: of the model. `truncated`: cut off. `dropped`: not trained on, as too old or surplus.',
    ),
});

const turn = z.object({
  id: z.int().describe('Row of the store.'),
  step: z.int(),
  policyVersion: z.int(),
  start: z.number().optional().describe('Seconds from the start of the rollout.'),
  seconds: z.number().optional(),
  promptTokens: count,
  responseTokens: count,
  tools: z.array(z.string()).describe('Names of the called tools; empty where not known.'),
  text: z.string().describe('Beginning of what the model said, without reasoning and tool calls.'),
  finishReason: z.string().optional(),
  problem: z.string().optional(),
});

export const trace = rollout.extend({
  turnList: z.array(turn).describe('Model calls, in order.'),
});

const progress = z
  .object({ done: count, of: count })
  .optional()
  .describe('Rows that were looked at so far: ask again. Absent when it is complete.');

export const rolloutPage = z.object({
  rows: z.array(rollout),
  matching: count.describe('Rollouts that pass the filter.'),
  total: count.describe('All rollouts.'),
  recorded: count.describe('Rows in the store: a rollout has one or several.'),
  upTo: count.describe('Newest row of this list, to ask for its other pages with.'),
  tools: z.array(z.string()).describe('Names of tools that rollouts called, as far as read.'),
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

const attempt = rollout.extend({
  calls: z
    .array(z.object({ id: z.int(), step: z.int(), text: z.string() }))
    .describe('What the model wrote, call by call.'),
});

export const group = z.object({
  batch: z.string(),
  task: z.string(),
  taskset: z.string().optional(),
  row: z.int().optional(),
  truth: head.shape.truth,
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
  'turns',
  'policyVersion',
  'staleness',
  'seconds',
  'step',
] as const;

/** Numbers that a filter can limit with `min` and `max`. */
export const rangeKeys = [
  'step',
  'reward',
  'advantage',
  'policyVersion',
  'staleness',
  'responseTokens',
  'turns',
  'toolCalls',
  'seconds',
] as const;

export const rolloutRoutes = {
  '/api/runs/{run}/rollouts': {
    summary: 'Recorded rollouts: filtered, in an order, one page.',
    query: {
      batch: text('Explore step.'),
      task: text('Place of the task in it.'),
      run: number('Attempt at the task.'),
      taskset: text('Name of the task set.'),
      row: number('Of the task in its task set.'),
      minStep: number('First explore step.'),
      maxStep: number('Last explore step.'),
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
      minTurns: number('Fewest model calls.'),
      maxTurns: number('Most model calls.'),
      minToolCalls: number('Fewest tool calls.'),
      maxToolCalls: number('Most tool calls.'),
      minSeconds: number('Least duration.'),
      maxSeconds: number('Largest duration.'),
      tool: text('Name of a tool that was called.'),
      problem: z
        .enum(['any', ...problemKinds])
        .optional()
        .describe('Only rollouts with a problem, or with one of this kind.'),
      text: text('Part of what was read or written, in any case.'),
      sort: z.enum(sortKeys).optional(),
      descending: z.enum(['true', 'false']).optional(),
      page: number('From 0.'),
      size: number('Rollouts of a page, 1 to 200; 50 if absent.'),
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
  '/api/runs/{run}/rollouts/{id}/trace': {
    summary: 'The rollout that an experience belongs to, with its turns.',
    query: {},
    answer: trace,
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
