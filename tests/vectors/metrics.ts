// Metrics of evaluations and steps, the learning rate, and operators of the experience pipeline.
import {
  createExperience,
  type Metrics,
  gatherMetrics,
  mean,
  meanMetrics,
} from '../../packages/core/src/index.ts';
import { prefixMetrics } from '../../packages/core/src/internal.ts';
import { createOperators } from '../../packages/algorithm/src/index.ts';
import { expectedBestOfDraws } from '../../packages/explorer/src/internal.ts';
import { keyMetrics } from '../../packages/explorer/src/metrics/eval-metrics.ts';
import { learningRateAt } from '../../packages/trainer/src/schedule.ts';
import { expectSame } from './compare.ts';
import type { Numbers, VectorCase } from './suite.ts';

interface EvalVectors {
  readonly cases: readonly {
    readonly values: readonly number[];
    readonly metrics: Numbers;
    readonly exact_expectation: Numbers;
  }[];
  readonly train_mode: { readonly in: readonly Metrics[]; readonly out: Numbers };
  readonly docs: Readonly<Record<string, unknown>> & {
    readonly tasks: readonly (readonly number[])[];
  };
}

/** Cases of evaluation metrics. All runs of a case take the same time, which the case states. */
export function evaluation({ cases, train_mode: train, docs }: EvalVectors): readonly VectorCase[] {
  const ofDocs = docs.tasks.map((task) => keyMetrics('accuracy', task));
  const stated = Object.entries(docs).filter(([key]) => key.startsWith('eval/'));
  return [
    ...cases.flatMap(({ values, metrics, exact_expectation: exact }, i) => [
      {
        id: `eval_metrics/${i}`,
        run: () => {
          const { 'time/run_execution': seconds, ...own } = metrics;
          const found = keyMetrics('accuracy', values);
          for (const isEstimate of [true, false]) {
            const names = Object.entries(own).filter(([name]) => estimated(name) === isEstimate);
            const tolerance = isEstimate ? estimateError(values) : 1e-8;
            expectSame(found, Object.fromEntries(names), tolerance);
          }
          if (seconds === undefined) return;
          expectSame(
            keyMetrics(
              'time/run_execution',
              values.map(() => seconds),
            ),
            { 'time/run_execution': seconds },
            1e-8,
          );
        },
      },
      ...Object.entries(exact).map(([name, value]) => ({
        id: `eval_metrics/${i}/expectation/${name}`,
        run: () => {
          const draws = Number(name.slice(name.indexOf('@') + 1));
          const best = name.includes('/best@');
          const found = expectedBestOfDraws(best ? values : values.map((one) => -one), draws);
          expectSame(best ? found : -found, value, 1e-8);
        },
      })),
    ]),
    {
      id: 'eval_metrics/train_mode',
      run: () => expectSame(meanMetrics(train.in), train.out, 1e-8),
    },
    ...stated.map(([name, value]) => ({
      id: `eval_metrics/docs/${name}`,
      run: () =>
        expectSame(
          mean(ofDocs.map((metrics) => metrics[name.slice(name.indexOf('accuracy'))]!)),
          value,
          1e-6,
        ),
    })),
  ];
}

/** True for metrics that Trinity-RFT estimates from 1000 draws; ours are exact. */
const estimated = (name: string): boolean => /\/(?:best|worst)@/.test(name);

/**
 * Five standard errors of Trinity-RFT's estimate, for draws whose standard deviation is half the
 * range.
 */
const estimateError = (values: readonly number[]): number =>
  (5 * (Math.max(...values) - Math.min(...values))) / 2 / Math.sqrt(1000) + 1e-8;

interface GatherVectors {
  readonly in: readonly Metrics[];
  readonly prefix: string;
  readonly out: Numbers;
  readonly eval: Numbers;
  readonly eval_detailed: Numbers;
}

export function gathering({
  in: records,
  prefix,
  out,
  eval: short,
  eval_detailed: detailed,
}: GatherVectors): readonly VectorCase[] {
  return [
    { id: 'gather_metrics', run: () => expectSame(gatherMetrics(records, prefix), out) },
    {
      id: 'gather_metrics/eval',
      run: () => expectSame(prefixMetrics(prefix, meanMetrics(records)), short),
    },
    {
      id: 'gather_metrics/eval_detailed',
      run: () => expectSame(gatherMetrics(records, prefix, { std: true }), detailed),
    },
  ];
}

interface SchedulerVector {
  readonly repeat_times?: readonly number[];
  readonly per_run_step_metrics?: readonly string[];
  readonly task_metric: readonly number[];
}

/** Cases of the scheduler: a task's metric is the mean over its runs, and a run's the mean over its experiences. */
export function scheduler(vectors: readonly SchedulerVector[]): readonly VectorCase[] {
  return vectors.map(
    ({ repeat_times: repeats, per_run_step_metrics: cycles, task_metric: expected }, i) => ({
      id: `scheduler_metrics/${i}`,
      run: () => {
        const runs =
          repeats?.map((count) => Array.from({ length: count }, (_, run) => run)) ??
          cycles!.map(cycleOf);
        const found = runs.map(
          (values) => meanMetrics(values.map((value) => ({ value })))['value'],
        );
        expectSame(found, expected);
      },
    }),
  );
}

/** Parses `cycle [0,2,4,...,14]`. */
function cycleOf(text: string): readonly number[] {
  const items = text.slice(text.indexOf('[') + 1, text.indexOf(']')).split(',');
  const gap = items.indexOf('...');
  if (gap < 0) return items.map(Number);
  const [first, second, last] = [Number(items[0]), Number(items[1]), Number(items.at(-1))];
  return Array.from(
    { length: (last - first) / (second - first) + 1 },
    (_, i) => first + i * (second - first),
  );
}

interface ScheduleVectors {
  readonly total_steps: number;
  readonly warmup: number;
  readonly min_lr_ratio: number;
  readonly cases: readonly {
    readonly step: number;
    readonly cosine: number;
    readonly constant: number;
  }[];
}

export function learningRate({
  total_steps: totalSteps,
  warmup: lrWarmupSteps,
  min_lr_ratio: minLrRatio,
  cases,
}: ScheduleVectors): readonly VectorCase[] {
  const at = (step: number, lrSchedulerType: 'cosine' | 'constant'): number =>
    learningRateAt(step, { lr: 1, lrSchedulerType, lrWarmupSteps, minLrRatio }, totalSteps);
  return cases.map(({ step, ...expected }) => ({
    id: `tinker_lr_factor/${step}`,
    run: () =>
      expectSame(
        { cosine: at(step, 'cosine'), constant: at(step, 'constant') },
        { cosine: expected.cosine, constant: expected.constant },
      ),
  }));
}

interface ShapingVectors {
  readonly configs: readonly Readonly<Record<string, unknown>>[];
  readonly sample: {
    readonly reward: number;
    readonly q: number;
    readonly d: number;
    readonly out: number;
  };
}

export function rewardShaping({
  configs,
  sample: { reward, q, d, out },
}: ShapingVectors): readonly VectorCase[] {
  const run = (): void => {
    const [operator] = createOperators([
      { name: 'reward_shaping_mapper', args: { rewardShapingConfigs: configs } },
    ]);
    const info = { llm_quality_score: q, llm_difficulty_score: d };
    const { experiences } = operator!.apply([
      createExperience({ tokens: [1, 2], promptLength: 1, reward, info }),
    ]);
    expectSame(experiences[0]?.reward, out);
  };
  return [{ id: 'reward_shaping_mapper', run }];
}

interface DapoVectors {
  readonly cases: readonly {
    readonly accuracy: readonly number[];
    readonly reward?: readonly number[];
    readonly kept: number;
    readonly dropped_all_correct?: number;
    readonly dropped_all_wrong?: number;
  }[];
}

export function dynamicSampling({ cases }: DapoVectors): readonly VectorCase[] {
  return cases.map(
    ({ accuracy, reward, kept, dropped_all_correct: correct, dropped_all_wrong: wrong }, i) => ({
      id: `dapo_dynamic_sampling/${i}`,
      run: () => {
        const [operator] = createOperators([{ name: 'dapo_dynamic_sampling' }]);
        const experiences = accuracy.map((value, run) =>
          createExperience({
            tokens: [1, 2],
            promptLength: 1,
            reward: reward?.[run] ?? value,
            metrics: { accuracy: value },
            eid: { run },
          }),
        );
        const result = operator!.apply(experiences);
        const counts = Object.entries({
          dropped_all_correct: correct,
          dropped_all_wrong: wrong,
        }).filter(([, count]) => count !== undefined);
        expectSame(result.experiences.length, kept, 0, 'kept');
        for (const [name, count] of counts) {
          const found = Object.entries(result.metrics).find(([key]) => key.endsWith(name));
          expectSame(found?.[1], count, 0, name);
        }
      },
    }),
  );
}
