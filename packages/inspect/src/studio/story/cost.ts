/** Computes the cost of a run: seconds, tokens, dollars, and how each role spent its time. */
import type { RunSettings, Story } from '../interface/types.js';
import type { MetricFile } from '../metrics/metric-file.js';

type Time = Story['time'][number];
type TimePart = Time['parts'][number];

/** Parts of the time that a role spends working or waiting: name, title and metric. */
const durations = {
  explorer: [
    ['sampling', 'sampling and scoring', 'time/wait_explore_step'],
    ['waiting', 'waiting for new weights', 'time/sync_weight'],
    ['evaluating', 'evaluating', 'time/eval'],
  ],
  trainer: [
    ['training', 'training', 'time/train_step'],
    ['waiting', 'waiting for batches', 'time/read_experience'],
    ['saving', 'saving checkpoints', 'time/save_checkpoint'],
  ],
} as const satisfies Record<
  Time['role'],
  readonly (readonly [TimePart['name'], string, metric: string])[]
>;

/** Share of a role's time below which a part is not shown. */
const leastShare = 0.005;

/** Time that each role spent, by part. Omits negligible parts, and roles without recorded time. */
export async function timeOf(file: MetricFile): Promise<readonly Time[]> {
  const roles = Object.keys(durations) as readonly Time['role'][];
  const times = await Promise.all(
    roles.map(async (role): Promise<Time> => {
      const parts = await Promise.all(
        durations[role].map(async ([name, title, metric]) => ({
          name,
          title,
          seconds: (await sumOf(file, role, metric)) ?? 0,
        })),
      );
      const seconds = parts.reduce((sum, part) => sum + part.seconds, 0);
      return { role, seconds, parts: parts.filter((part) => part.seconds > seconds * leastShare) };
    }),
  );
  return times.filter(({ seconds }) => seconds > 0);
}

export async function costOf(
  file: MetricFile,
  settings: RunSettings,
  time: readonly Time[],
): Promise<Story['cost']> {
  // An engine counts only the tokens that it sampled: none if other processes are the explorers.
  const counted = await sumOf(file, 'trainer', 'perf/sampled_tokens');
  const sampledTokens = counted || (await exploredTokens(file)) || undefined;
  const trainedTokens = await sumOf(file, 'trainer', 'perf/total_num_tokens');
  return {
    seconds: time.length === 0 ? undefined : Math.max(...time.map(({ seconds }) => seconds)),
    processorSeconds: await sumOf(file, 'trainer', 'perf/processor_seconds'),
    sampledTokens,
    trainedTokens,
    dollars: dollarsOf(settings, { sample: sampledTokens, train: trainedTokens }),
  };
}

/** Sum of the response tokens of all explore steps. */
async function exploredTokens(file: MetricFile): Promise<number> {
  const columns = await file.columns('explorer', [
    'rollout/response_tokens/mean',
    'rollout/steps/mean',
    'rollout/runs/ok',
  ]);
  let sum = 0;
  for (let line = 0; line < (columns[0]?.length() ?? 0); line++) {
    const tokens = columns.reduce((product, column) => product * column.at(line), 1);
    if (Number.isFinite(tokens)) sum += tokens;
  }
  return Math.round(sum);
}

/** Cost in dollars; undefined if no price is configured. */
function dollarsOf(
  settings: RunSettings,
  tokens: { readonly sample: number | undefined; readonly train: number | undefined },
): number | undefined {
  const costs = (['sample', 'train'] as const).flatMap((kind) => {
    const price = settings[`model.tinker.prices.${kind}`];
    return typeof price === 'number' ? [((tokens[kind] ?? 0) / 1e6) * price] : [];
  });
  return costs.length === 0 ? undefined : costs.reduce((sum, cost) => sum + cost, 0);
}

/** Sum of a metric over all lines; undefined if no line has the metric. */
async function sumOf(file: MetricFile, role: string, metric: string): Promise<number | undefined> {
  const [column] = await file.columns(role, [metric]);
  if (column?.isSet() !== true) return undefined;
  let sum = 0;
  for (let line = 0; line < column.length(); line++) {
    const value = column.at(line);
    if (Number.isFinite(value)) sum += value;
  }
  return sum;
}
