/** Schemas and routes of recorded rollouts. */
import { z } from 'zod';
import { count, number, text, type Routes } from './route.js';

const head = z.object({
  id: z.int().describe('Row of the store, from 1.'),
  uid: z.string(),
  batch: z.string().describe('Explore step.'),
  task: z.string().describe('Index of the task in the explore step.'),
  run: z.int().describe('Attempt at the task.'),
  reward: z.number().optional(),
  policyVersion: z.int(),
  taskset: z.string().optional(),
  row: z.int().optional().describe('Row of the task in its task set.'),
  truth: z.string().optional().describe('Reference answer, if the task has one.'),
});

/** Kinds of problems, the worst first. */
export const problemKinds = ['failed', 'fault', 'truncated', 'dropped'] as const;

export const rollout = z.object({
  id: z.int().describe('Row of the store with its first model call.'),
  rows: z.array(z.int()).describe('All rows of the rollout, in the order of the calls.'),
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
  question: z.string().describe('Question of the user; only its end in lists.'),
  answer: z.string().describe('Text of the last call; only its beginning in lists.'),
  reward: z.number().optional().describe('Reward of the last call.'),
  parts: z.record(z.string(), z.number()).describe('Parts of the reward by name.'),
  reasons: z.record(z.string(), z.string()).describe('Reasons by the part of the reward.'),
  advantage: z
    .number()
    .optional()
    .describe(
      'Mean advantage over the trained tokens of a call, averaged over calls: from the last train step that computed one, else as stored.',
    ),
  policyVersion: z.int().describe('Version of the weights that wrote the last call.'),
  staleness: z
    .int()
    .optional()
    .describe('Largest number of train steps from the version of a call to the step that used it.'),
  trainStep: z.int().optional().describe('Last train step that used the rollout.'),
  turns: count.describe('Model calls.'),
  toolCalls: count,
  tools: z.array(z.string()).describe('Known names of the called tools.'),
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
      '`failed`: got the failure reward. `fault`: fault of the model. `truncated`: cut off. `dropped`: not trained on, as too old or surplus.',
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
  tools: z.array(z.string()).describe('Names of the called tools; empty for unknown names.'),
  text: z.string().describe('Beginning of the response, without reasoning and tool calls.'),
  finishReason: z.string().optional(),
  problem: z.string().optional(),
});

export const trace = rollout.extend({
  turnList: z.array(turn).describe('Model calls, in order.'),
});

const progress = z
  .object({ done: count, of: count })
  .optional()
  .describe('Number of rows read so far; absent if the answer is complete. Repeat the request.');

export const rolloutPage = z.object({
  rows: z.array(rollout),
  matching: count.describe('Number of rollouts that pass the filter.'),
  total: count.describe('Number of all rollouts.'),
  recorded: count.describe('Number of recorded model calls; a rollout has one or several.'),
  upTo: count.describe('Newest row of this list, to pass when requesting its other pages.'),
  tools: z.array(z.string()).describe('Names of the tools called in the rollouts read so far.'),
  progress,
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
  spans: z.array(callSpan).optional().describe('Model calls, if the experience holds several.'),
  uses: z.array(use).describe('Train steps that used the experience, oldest first.'),
  advantagesOf: z
    .enum(['trainer', 'explorer'])
    .optional()
    .describe('Process that computed the advantages of the tokens; absent if there are none.'),
  metrics: z.record(z.string(), z.number()),
  info: z.record(z.string(), z.unknown()),
});

const numbers = z.array(z.number().nullable()).optional();

/** Consecutive tokens that are either all context or all sampled. */
const segment = z.object({
  sampled: z.boolean().describe('True if the model sampled the tokens and is trained on them.'),
  policyVersion: z.int().optional().describe('Version of the weights that sampled the tokens.'),
  start: count.describe('Index of its first token in the sequence.'),
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
      '`spliced`: the prompt begins with exactly the tokens of an earlier call. `forked`: it continues an earlier call with other tokens.',
    ),
  after: z.int().optional().describe('Row of that earlier call.'),
  same: count.describe('Number of leading tokens shared with the earlier call, which are omitted.'),
  fork: z.string().optional().describe('Reason of the fork, from the recorder.'),
  segments: z.array(segment),
});

export const conversation = z.object({
  batch: z.string(),
  task: z.string(),
  run: z.int(),
  calls: z.array(call).describe('Calls of one attempt, in order.'),
  advantagesOf: rolloutDetail.shape.advantagesOf,
  failure: z
    .string()
    .optional()
    .describe('Failure of an attempt that got the failure reward, from the log.'),
});

const attempt = rollout.extend({
  calls: z
    .array(z.object({ id: z.int(), step: z.int(), text: z.string() }))
    .describe('Responses of the model, call by call. A row of merged calls has several.'),
});

export const group = z.object({
  batch: z.string(),
  task: z.string(),
  taskset: z.string().optional(),
  row: z.int().optional(),
  truth: head.shape.truth,
  question: z.string(),
  attempts: z.array(attempt).describe('Attempts, the best first.'),
  missing: z
    .array(z.object({ run: z.int(), failure: z.string() }))
    .describe('Attempts without a record, with the failure from the log.'),
});

const answer = z.object({ id: z.int(), reward: z.number().optional(), text: z.string() });

export const taskHistory = z.object({
  taskset: z.string().optional(),
  row: z.int().optional().describe('Row in the task set; if unknown, `times` is empty.'),
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
  left: count.describe('Number of explore steps in between that are left out.'),
  progress,
});

const taskRow = z.object({
  id: z.int().describe('Row of the store with its first rollout.'),
  taskset: z.string().optional(),
  row: z.int().optional().describe('Row of the task in its task set.'),
  question: z.string(),
  times: count.describe('Number of explore steps with the task.'),
  first: z.number().optional().describe('Mean reward of the first visit.'),
  latest: z.number().optional().describe('Mean reward of the latest visit.'),
  change: z.number().optional().describe('`latest` - `first`; absent after a single visit.'),
});

export const taskPage = z.object({
  rows: z.array(taskRow),
  tasks: count.describe('Number of tasks with a recorded row of their task set.'),
  better: count.describe(
    'Number of tasks with a higher reward in the latest visit than in the first.',
  ),
  worse: count,
  same: count.describe('Number of tasks with several visits and no change.'),
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

/**
 * Numeric fields of rollouts that a filter can limit with parameters named `min...` and `max...`.
 */
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
    summary: 'One page of the recorded rollouts, filtered and sorted.',
    query: {
      batch: text('Explore step.'),
      task: text('Index of the task in the explore step.'),
      run: number('Attempt at the task.'),
      taskset: text('Name of the task set.'),
      row: number('Row of the task in its task set.'),
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
      text: text('Text in the prompt or the response, in any case.'),
      sort: z.enum(sortKeys).optional(),
      descending: z.enum(['true', 'false']).optional(),
      page: number('Page, from 0.'),
      size: number('Rollouts per page, 1 to 200; 50 if absent.'),
      upTo: number('Value from an earlier page of the list; later rows are ignored.'),
    },
    answer: rolloutPage,
  },
  '/api/runs/{run}/tasks': {
    summary: 'One page of the tasks, with their rewards at the first and the latest visit.',
    query: {
      sort: z.enum(taskSortKeys).optional().describe('`change` if absent.'),
      descending: z.enum(['true', 'false']).optional(),
      page: number('Page, from 0.'),
      size: number('Tasks per page, 1 to 200; 50 if absent.'),
    },
    answer: taskPage,
  },
  '/api/runs/{run}/rollouts/{id}': {
    summary: 'Record of an experience. `conversation` has its tokens.',
    query: {},
    answer: rolloutDetail,
  },
  '/api/runs/{run}/rollouts/{id}/trace': {
    summary: 'Rollout of an experience, with its turns.',
    query: {},
    answer: trace,
  },
  '/api/runs/{run}/rollouts/{id}/conversation': {
    summary: 'All model calls of the attempt of an experience.',
    query: {},
    answer: conversation,
  },
  '/api/runs/{run}/rollouts/{id}/group': {
    summary: 'All attempts at the task of an experience in its explore step, best first.',
    query: {},
    answer: group,
  },
  '/api/runs/{run}/rollouts/{id}/history': {
    summary: 'Answers to the task of an experience in each explore step.',
    query: {},
    answer: taskHistory,
  },
} satisfies Routes;
