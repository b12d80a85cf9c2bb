/** Problems of a run, and the effect of another reward or loss on it. */
import { z } from 'zod';
import { count, number, numberOrNull, text, type Routes } from './route.js';

const measured = z.object({
  role: z.enum(['explorer', 'trainer']),
  metric: z.string(),
  from: z.int().describe('First step that the value is taken over.'),
  to: z.int(),
  value: numberOrNull,
  outOf: z
    .array(z.string())
    .optional()
    .describe('The value is a share: the sum of the metric over that of these.'),
});

export const finding = z.object({
  name: z.string().describe('Of the rule.'),
  title: z.string(),
  when: z.string().describe('The condition, with its thresholds.'),
  text: z.string().describe('What was seen, with numbers and steps.'),
  advice: z.string(),
  numbers: z.array(measured),
  rollouts: z
    .object({
      ids: z.array(count).optional().describe('Some that show it.'),
      batch: z.string().optional(),
      minReward: z.number().optional(),
      maxReward: z.number().optional(),
      sort: z.string().optional(),
      descending: z.boolean().optional(),
    })
    .optional()
    .describe('A filter of the list of rollouts that shows them.'),
});

export const diagnosis = z.object({
  findings: z.array(finding),
  rules: count.describe('That were looked at.'),
  rollouts: count.describe('Newest rollouts that were looked at.'),
});

export const whatIfChoices = z.object({
  algorithms: z.array(z.string()),
  advantages: z.array(z.string()),
  losses: z.array(z.string()),
  numbers: z.array(z.string()).describe('Numbers of recorded rollouts that may be rewards.'),
});

const variantRun = z.object({
  reward: z.number().optional(),
  advantage: z.number().describe('Mean over its trained tokens.'),
  gradientNorm: z.number(),
  rank: count.describe('In its group by advantage, from 1.'),
});

const variantSummary = z.object({
  groupsWithSignal: count,
  runsWithSignal: count,
  meanReward: z.number().optional(),
  meanAbsAdvantage: z.number(),
  gradientNorm: z
    .number()
    .describe("Of the loss's derivatives by the log-probabilities of an explore step."),
  loss: z.number(),
  metrics: z.record(z.string(), z.number()).describe('Of the loss.'),
});

export const whatIf = z.object({
  exploreSteps: count.describe('Newest explore steps that were looked at.'),
  groupCount: count,
  before: variantSummary,
  after: variantSummary,
  agreement: z.number().optional().describe("Mean of Kendall's tau-b over groups."),
  signChanges: z.number().describe('Share of runs that are pushed the other way.'),
  gradientCosine: z.number().optional(),
  groups: z
    .array(
      z.object({
        batch: z.string(),
        task: z.string(),
        agreement: z.number().optional(),
        runs: z.array(z.object({ run: z.int(), before: variantRun, after: variantRun })),
      }),
    )
    .describe('Those that are reordered most first, at most 20.'),
});

export const insightRoutes = {
  '/api/runs/{run}/diagnosis': {
    summary: 'What is wrong with a run, by the rules of trinity doctor.',
    query: {},
    answer: diagnosis,
  },
  '/api/runs/{run}/what-if/choices': {
    summary: 'What may be tried on recorded rollouts.',
    query: {},
    answer: whatIfChoices,
  },
  '/api/runs/{run}/what-if': {
    summary: 'Another reward, advantage or loss over the newest recorded rollouts.',
    query: {
      algorithm: text('Of which the parts are tried; that of the run if absent.'),
      advantage: text('Advantage function.'),
      loss: text('Policy loss.'),
      number: text('Number of a rollout that is its reward; the recorded reward if absent.'),
      contains: text('1 for answers that contain this text in any case, else 0.'),
      lengthCost: number('Taken off the reward per token of the answer.'),
      drift: number('How far weights have moved since, in nats; 0 if absent.'),
      steps: number('Newest explore steps, 1 to 20; 3 if absent.'),
    },
    answer: whatIf,
  },
} satisfies Routes;
