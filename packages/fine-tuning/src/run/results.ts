/** Converts metrics of a training run to the metrics of the API. */
import type { MetricLine } from '@trinity-rft/monitor';
import type { MethodName } from '../wire/job-request.js';

type Data = Readonly<Record<string, number>>;

/** Name of the training run's metric for each metric of the API, by method. */
const names: Readonly<Record<MethodName, Readonly<Record<string, string>>>> = {
  supervised: { train_loss: 'actor/sft_loss' },
  dpo: { train_loss: 'actor/dpo_loss', train_accuracy: 'actor/accuracy_mean' },
  reinforcement: {
    train_loss: 'actor/final_loss',
    train_mean_reward: 'rollout/reward/mean',
    valid_mean_reward: 'eval/validation/reward/mean@1',
  },
};

export interface StepNumbers {
  readonly step: number;
  /** Metrics of the step, keyed by their names in the API, such as `train_loss`. */
  readonly data: Data;
  /** Number of tokens in the rows of the step. */
  readonly tokens: number;
}

/**
 * Returns one entry per complete train step, in ascending order. The results of an evaluation are
 * added to the step whose weights were evaluated, because the explorer records them with a later
 * step.
 */
export function stepsIn(lines: readonly MetricLine[], method: MethodName): readonly StepNumbers[] {
  const byStep = Map.groupBy(lines, ({ step }) => step);
  const evaluations = new Map(
    lines.map(({ metrics }) => [metrics['eval/model_version'], metrics] as const),
  );
  const trained = lines.filter(({ role }) => role === 'trainer').map(({ step }) => step);
  return [...new Set(trained)]
    .toSorted((a, b) => a - b)
    .map((step) => {
      const all: Readonly<Record<string, number | null>> = Object.assign(
        {},
        ...(byStep.get(step) ?? []).flatMap(({ metrics, timing = {} }) => [metrics, timing]),
      );
      const data = Object.entries(names[method]).flatMap(([name, metric]) => {
        const value = metric.startsWith('eval/')
          ? valueOf(evaluations.get(step) ?? {}, metric)
          : all[metric];
        return value === undefined || value === null ? [] : [[name, value] as const];
      });
      return { step, data: Object.fromEntries(data), tokens: all['perf/total_num_tokens'] ?? 0 };
    });
}

/**
 * Returns the value of an evaluation metric. Its name ends with the sample count (`@1`), which may
 * differ.
 */
function valueOf(all: MetricLine['metrics'], metric: string): number | null | undefined {
  const start = metric.replace(/\d+$/, '');
  return Object.entries(all).find(([key]) => key.startsWith(start) && /@\d+$/.test(key))?.[1];
}

const columns = [
  'step',
  'train_loss',
  'train_accuracy',
  'valid_loss',
  'valid_mean_token_accuracy',
] as const;
const rewardColumns = ['train_mean_reward', 'valid_mean_reward'] as const;

/**
 * Returns the result file of a job as CSV, with a line per step and empty cells for missing values.
 */
export function resultsCsv(steps: readonly StepNumbers[], method: MethodName): string {
  const all = method === 'reinforcement' ? [...columns, ...rewardColumns] : columns;
  const line = ({ step, data }: StepNumbers): string =>
    all.map((name) => (name === 'step' ? step : (data[name] ?? ''))).join(',');
  return `${[all.join(','), ...steps.map(line)].join('\n')}\n`;
}
