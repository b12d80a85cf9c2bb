/** Schemas and route of the story of a run. */
import { z } from 'zod';
import { finding } from './insight.js';
import { count, numberOrNull, type Routes } from './route.js';
import { runSummary } from './runs.js';

const interval = z.object({ low: z.number(), high: z.number() });

const scored = z.object({
  step: count.describe('Train step of the weights.'),
  value: z.number(),
  interval: interval.optional().describe('95 % confidence interval.'),
});

const evaluation = z.object({
  set: z.string(),
  metric: z.string(),
  before: scored,
  after: scored,
  difference: z.number(),
  interval: interval.optional().describe('95 % confidence interval of the difference.'),
  tasks: z
    .object({ better: count, worse: count, same: count })
    .optional()
    .describe('Compared task by task; absent if the answers are not recorded.'),
});

const verdict = z.object({
  kind: z
    .enum([
      'learned',
      'worse',
      'same',
      'unclear',
      'notEvaluated',
      'notMeasured',
      'measured',
      'running',
      'stopped',
      'failed',
    ])
    .describe(
      '`notEvaluated`: only the training reward is known; `notMeasured`: no reward either; `measured`: a benchmark, whose scores are in the text.',
    ),
  headline: z.string(),
  text: z.string().describe('Evidence in one or two sentences.'),
  evaluation: evaluation.optional().describe('Decisive evaluation.'),
});

const chart = z.object({
  name: z.string().describe('Kind of chart.'),
  title: z.string(),
  about: z.string(),
  role: z.string(),
  metric: z.string(),
  x: z
    .array(z.number())
    .describe(
      'Steps of the role. For evaluations: the explore steps after which they were made; for those of `trinity eval`, whose role is `bench`, the train steps of the weights.',
    ),
  values: z.array(numberOrNull),
  low: z.array(numberOrNull).optional().describe('Lower ends of 95 % intervals.'),
  high: z.array(numberOrNull).optional(),
});

const said = z.object({
  reward: z.number(),
  answer: z.string(),
  reasons: z.array(z.string()),
});

const answerPair = z.object({
  kind: z.enum(['gain', 'loss', 'typical']),
  set: z.string(),
  row: count,
  question: z.string(),
  truth: z.string().optional().describe('Expected answer, if the task has one.'),
  before: said,
  after: said,
});

const time = z.object({
  role: z.enum(['explorer', 'trainer']),
  seconds: z.number(),
  parts: z.array(
    z.object({
      name: z.enum(['sampling', 'training', 'evaluating', 'saving', 'waiting', 'other']),
      title: z.string(),
      seconds: z.number(),
    }),
  ),
});

const cost = z.object({
  seconds: z.number().optional().describe('Time of steps and evaluations, without pauses.'),
  processorSeconds: z.number().optional().describe('Processor time of the training process.'),
  sampledTokens: z.number().optional(),
  trainedTokens: z.number().optional().describe('Trained tokens, prompts included.'),
  dollars: z
    .number()
    .optional()
    .describe(
      'Price of sampled and trained tokens according to model.tinker.prices, without prefill.',
    ),
});

const action = z.object({
  name: z.enum([
    'watch',
    'resume',
    'log',
    'raise',
    'doctor',
    'whatIf',
    'evaluate',
    'chat',
    'export',
    'serve',
  ]),
  title: z.string(),
  why: z.string(),
  command: z.string().describe('Shell command for the folder in which the run was started.'),
});

export const story = z.object({
  name: z.string(),
  folder: z.string(),
  state: runSummary.shape.state,
  steps: runSummary.shape.steps,
  changedAt: runSummary.shape.changedAt,
  setup: z.array(z.object({ name: z.string(), value: z.string() })),
  verdict,
  evaluations: z.array(evaluation),
  reward: chart.optional(),
  charts: z.array(chart).describe('At most six charts of metrics that the run has.'),
  answers: z.array(answerPair),
  noAnswers: z.string().optional().describe('Reason why answers cannot be compared.'),
  findings: z.array(finding),
  cost,
  time: z.array(time),
  actions: z.array(action),
});

export const storyRoutes = {
  '/api/runs/{run}/story': {
    summary: 'Verdict on a run, its causes, and next steps.',
    query: {},
    answer: story,
  },
} satisfies Routes;
