/** Selects the charts that the story of a run shows. */
import { evaluatedAfter } from '@trinity-rft/monitor';
import type { EvaluationChange } from '../../diagnosis/index.js';
import type { StoryChart } from '../interface/types.js';
import { curveOf } from '../metrics/curve.js';
import type { MetricFile } from '../metrics/metric-file.js';

interface ChartKind {
  readonly name: string;
  readonly title: string;
  readonly about: string;
  /**
   * Candidate metrics. The chart shows the first metric that the run has. Except for the reward,
   * the metric must also change during the run.
   */
  readonly metrics: readonly (readonly [role: string, name: string])[];
}

const rewardKind: ChartKind = {
  name: 'reward',
  title: 'Mean reward in training',
  about: 'Of the answers that were sampled to learn from, step by step.',
  metrics: [
    ['explorer', 'rollout/reward/mean'],
    ['trainer', 'critic/score/mean'],
  ],
};

/**
 * Kinds of charts, in the order in which they follow the chart of the evaluation. If several kinds
 * have the same name, only the first one for which the run has metrics is shown.
 */
const kinds: readonly ChartKind[] = [
  {
    name: 'length',
    title: 'Answer length',
    about: 'Tokens of a call. A sudden rise or fall often comes before a collapse.',
    metrics: [
      ['explorer', 'rollout/response_tokens/mean'],
      ['trainer', 'response_length/mean'],
    ],
  },
  {
    name: 'divergence',
    title: 'Distance from the sampling policy',
    about: 'Divergence in nats per token. It should stay small.',
    metrics: [
      ['trainer', 'actor/ppo_kl'],
      ['trainer', 'actor/approx_kl'],
      ['trainer', 'actor/ppo_kl_seq'],
    ],
  },
  {
    name: 'divergence',
    title: 'Distance from the reference model',
    about: 'Divergence in nats, added up as in the loss.',
    metrics: [['trainer', 'actor/kl_loss']],
  },
  {
    name: 'clipping',
    title: 'Clipped tokens',
    about: 'Share of tokens whose update the loss has limited.',
    metrics: [
      ['trainer', 'actor/pg_clipfrac'],
      ['trainer', 'actor/is_truncated_frac'],
      ['trainer', 'actor/masked_fraction'],
    ],
  },
  {
    name: 'entropy',
    title: 'Entropy',
    about: 'Nats per token. Near 0 the model samples the same answers again.',
    metrics: [
      ['trainer', 'actor/entropy'],
      ['trainer', 'actor/entropy_loss'],
    ],
  },
  {
    name: 'gradient',
    title: 'Gradient norm',
    about: 'Before clipping. Spikes are single batches that pull hard.',
    metrics: [['trainer', 'actor/grad_norm']],
  },
  {
    name: 'noSignal',
    title: 'Groups without a signal',
    about: 'Share of tasks whose attempts all got the same reward: nothing to learn from.',
    metrics: [
      ['explorer', 'experience_pipeline/group_advantages/zero_variance_ratio'],
      ['trainer', 'critic/group_advantages/zero_variance_ratio'],
    ],
  },
  {
    name: 'noSignal',
    title: 'Calls without a signal',
    about: 'Share of calls whose advantages are all 0: nothing to learn from.',
    metrics: [['trainer', 'sample/zero_advantage_ratio']],
  },
  {
    name: 'loss',
    title: 'Loss',
    about: 'Of the policy, with its KL and entropy terms.',
    metrics: [['trainer', 'actor/final_loss']],
  },
  {
    name: 'staleness',
    title: 'Staleness',
    about: 'Train steps between the weights that sampled and those that learn.',
    metrics: [['trainer', 'sample/staleness/mean']],
  },
  {
    name: 'throughput',
    title: 'Tokens per second',
    about: 'Of a train step, prompts included.',
    metrics: [['trainer', 'perf/throughput']],
  },
];

const mostCharts = 6;
/** Maximum number of points of a chart. */
const mostPoints = 300;

export interface StoryCharts {
  readonly reward: StoryChart | undefined;
  readonly charts: StoryChart[];
}

/**
 * Returns the charts of a story.
 * @param evaluation evaluation to show as the first chart
 */
export async function chartsOf(
  file: MetricFile,
  evaluation: EvaluationChange | undefined,
): Promise<StoryCharts> {
  const charts: StoryChart[] = evaluation ? [await evaluationChart(file, evaluation)] : [];
  for (const kind of kinds) {
    if (charts.length === mostCharts) break;
    const chart = await movingChart(file, kind);
    if (chart && charts.every(({ name }) => name !== kind.name)) charts.push(chart);
  }
  return { reward: (await chartsOfKind(file, rewardKind)).at(0), charts };
}

async function movingChart(file: MetricFile, kind: ChartKind): Promise<StoryChart | undefined> {
  const found = await chartsOfKind(file, kind);
  return found.find(({ values }) => new Set(values).size > 1);
}

async function chartsOfKind(
  file: MetricFile,
  { metrics, ...kind }: ChartKind,
): Promise<readonly StoryChart[]> {
  const found = await Promise.all(metrics.map(([role, name]) => chartOf(file, role, name)));
  return found.flatMap((chart) => (chart ? [{ ...kind, ...chart }] : []));
}

type Drawn = Omit<StoryChart, 'name' | 'title' | 'about'>;

/** @param stepOf step at which a line is drawn. @default its own step */
async function chartOf(
  file: MetricFile,
  role: string,
  metric: string,
  stepOf?: (line: number) => number,
): Promise<Drawn | undefined> {
  const lines = file.roles.get(role);
  const names = [metric, `${metric}/ci95_low`, `${metric}/ci95_high`];
  const [values, low, high] = await file.columns(role, names);
  if (!lines || values?.isSet() !== true) return undefined;
  const position = stepOf ?? lines.steps.at;
  const steps = { ...lines.steps, at: position };
  const curve = curveOf(
    { lines: { ...lines, steps }, name: metric, values, low, high, axis: 'step', position },
    { points: mostPoints, smooth: 0 },
  );
  return { role, metric, x: curve.x, values: curve.values, low: curve.low, high: curve.high };
}

/**
 * Chart of an evaluation. The x values are the explore steps (for `trinity eval`: train steps)
 * after which the evaluations were made.
 */
async function evaluationChart(
  file: MetricFile,
  { role, metric, set }: EvaluationChange,
): Promise<StoryChart> {
  const [explored] = await file.columns('explorer', [rewardKind.metrics[0]?.[1] ?? '']);
  const steps = file.roles.get(role)?.steps;
  const seen = new Set<number>();
  const after = Array.from({ length: steps?.length() ?? 0 }, (_, line) => {
    const step = steps?.at(line) ?? Number.NaN;
    if (explored?.has(line) === true) seen.add(step);
    return evaluatedAfter({ role: role === 'bench' ? 'bench' : 'explorer', step }, (each) =>
      seen.has(each),
    );
  });
  return {
    name: 'evaluation',
    title: `Evaluation ${set}`,
    about: 'Mean over the tasks of the evaluation, with 95 % intervals.',
    role,
    metric,
    x: [],
    values: [],
    ...(await chartOf(file, role, metric, (line) => after[line] ?? Number.NaN)),
  };
}
