/** Numbers of a run as the API names them. */
import type { MetricLine } from '@trinity-rft/monitor';
import type { MethodName } from '../wire/job-request.js';

type Data = Readonly<Record<string, number>>;

/** Names of the API, and the metric of a run behind each. */
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
  /** `train_loss`, ... */
  readonly data: Data;
  /** Tokens of the rows of the step. */
  readonly tokens: number;
}

/** One entry for each complete train step, by rising step. */
export function stepsIn(lines: readonly MetricLine[], method: MethodName): readonly StepNumbers[] {
  const byStep = Map.groupBy(lines, ({ step }) => step);
  const trained = lines.filter(({ role }) => role === 'trainer').map(({ step }) => step);
  return [...new Set(trained)]
    .toSorted((a, b) => a - b)
    .map((step) => {
      const all: Readonly<Record<string, number | null>> = Object.assign(
        {},
        ...(byStep.get(step) ?? []).flatMap(({ metrics, timing = {} }) => [metrics, timing]),
      );
      const data = Object.entries(names[method]).flatMap(([name, metric]) => {
        const value = valueOf(all, metric);
        return value === undefined ? [] : [[name, value] as const];
      });
      return { step, data: Object.fromEntries(data), tokens: all['perf/total_num_tokens'] ?? 0 };
    });
}

/** The number of samples stands in the name of an evaluation. */
function valueOf(all: Readonly<Record<string, number | null>>, metric: string): number | undefined {
  const start = metric.replace(/@\d+$/, '@');
  const found = metric.endsWith('@1')
    ? Object.keys(all).find((key) => key.startsWith(start) && /@\d+$/.test(key))
    : metric;
  return (found === undefined ? undefined : all[found]) ?? undefined;
}

const columns = [
  'step',
  'train_loss',
  'train_accuracy',
  'valid_loss',
  'valid_mean_token_accuracy',
] as const;
const rewardColumns = ['train_mean_reward', 'valid_mean_reward'] as const;

/** The result file of a job: CSV, a line for each step; what is not known is empty. */
export function resultsCsv(steps: readonly StepNumbers[], method: MethodName): string {
  const all = method === 'reinforcement' ? [...columns, ...rewardColumns] : columns;
  const line = ({ step, data }: StepNumbers): string =>
    all.map((name) => (name === 'step' ? step : (data[name] ?? ''))).join(',');
  return `${[all.join(','), ...steps.map(line)].join('\n')}\n`;
}
