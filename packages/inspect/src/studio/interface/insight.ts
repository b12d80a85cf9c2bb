/** Schemas and routes of the diagnosis and of what-if comparisons. */
import { z } from 'zod';
import { count, number, numberOrNull, text, type Routes } from './route.js';

const measured = z.object({
  role: z.enum(['explorer', 'trainer']),
  metric: z.string(),
  from: z.int().describe('First step of the statistic.'),
  to: z.int(),
  value: numberOrNull,
  counted: z
    .array(z.string())
    .optional()
    .describe('Metrics whose sum is the numerator, if the value is a share.'),
  outOf: z
    .array(z.string())
    .optional()
    .describe('Metrics whose sum is the denominator, if the value is a share.'),
  statistic: z
    .string()
    .optional()
    .describe(
      'Description of the value, if it is neither a value or mean of the metric, nor a share of sums.',
    ),
});

export const finding = z.object({
  name: z.string().describe('Name of the rule.'),
  title: z.string(),
  when: z.string().describe('Condition with its thresholds.'),
  text: z.string().describe('Evidence with numbers and steps.'),
  advice: z.string(),
  numbers: z.array(measured),
  rollouts: z
    .object({
      ids: z.array(count).optional().describe('Example rows.'),
      batch: z.string().optional(),
      minReward: z.number().optional(),
      maxReward: z.number().optional(),
      sort: z.string().optional(),
      descending: z.boolean().optional(),
    })
    .optional()
    .describe('Filter for the list of rollouts that show the problem.'),
});

export const diagnosis = z.object({
  findings: z.array(finding),
  rules: count.describe('Number of rules that were applied.'),
  rollouts: count.describe('Number of the newest rollouts that were examined.'),
});

export const whatIfChoices = z.object({
  algorithms: z.array(z.string()),
  advantages: z.array(z.string()),
  losses: z.array(z.string()),
  numbers: z.array(z.string()).describe('Metrics of recorded rollouts that can serve as reward.'),
});

const variantRun = z.object({
  reward: z.number().optional(),
  advantage: z.number().describe('Mean over its trained tokens.'),
  gradientNorm: z.number(),
  rank: count.describe('Rank in its group by advantage, from 1.'),
});

const variantSummary = z.object({
  groupsWithSignal: count,
  runsWithSignal: count,
  meanReward: z.number().optional(),
  meanAbsAdvantage: z.number(),
  gradientNorm: z
    .number()
    .describe("L2 norm of the loss's derivatives by the log-probabilities of an explore step."),
  loss: z.number(),
  metrics: z.record(z.string(), z.number()).describe('Metrics of the loss.'),
});

export const whatIf = z.object({
  exploreSteps: count.describe('Number of the newest explore steps that were used.'),
  groupCount: count,
  before: variantSummary,
  after: variantSummary,
  agreement: z.number().optional().describe("Mean of Kendall's tau-b over groups."),
  signChanges: z.number().describe('Share of runs whose advantage changes its sign.'),
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
    .describe('At most 20 groups, most reordered first.'),
});

export const insightRoutes = {
  '/api/runs/{run}/diagnosis': {
    summary: 'Problems of a run, by the rules of trinity doctor.',
    query: {},
    answer: diagnosis,
  },
  '/api/runs/{run}/what-if/choices': {
    summary: 'Algorithms, advantages, losses and rewards that can be compared.',
    query: {},
    answer: whatIfChoices,
  },
  '/api/runs/{run}/what-if': {
    summary: 'Compares another reward, advantage or loss on the newest recorded rollouts.',
    query: {
      algorithm: text('Algorithm to compare; that of the run if absent.'),
      advantage: text('Advantage function.'),
      loss: text('Policy loss.'),
      number: text('Metric of a rollout to use as reward; the recorded reward if absent.'),
      contains: text('Reward 1 for answers that contain this text in any case, else 0.'),
      lengthCost: number('Deduction from the reward per token of the answer.'),
      drift: number('Assumed policy drift since sampling, in nats; 0 if absent.'),
      steps: number('Number of the newest explore steps, 1 to 20; 3 if absent.'),
    },
    answer: whatIf,
  },
} satisfies Routes;
