/** Resolves the `explorer` section, and values that depend on batches and weight updates. */
import { resolveSection } from '../schema/resolve-section.js';
import { nodeAt } from '../source/node.js';
import { plainUnlessSecret, showValue } from '../source/secrets.js';
import { fillsExploreSteps } from './algorithm/algorithm.js';
import type { StageContext } from './base/context.js';
import { invalidFolder } from './base/paths.js';
import type { AlgorithmConfig, BufferConfig, ExplorerConfig, PartConfig } from './base/resolved.js';

interface ExplorerNeeds {
  readonly models: Pick<ExplorerConfig, 'rolloutModel' | 'auxiliaryModels'>;
  readonly buffer: BufferConfig;
  readonly algorithm: AlgorithmConfig;
  readonly operators: readonly PartConfig[];
}

export function deriveExplorer(
  context: StageContext,
  { models, buffer, algorithm, operators }: ExplorerNeeds,
): ExplorerConfig {
  const { explorer } = context.input;
  const { host, port, corsOrigins, checkIntervalMs, ...own } = resolveSection(
    context.sections.explorer,
    explorer,
  );
  explainOverRollout(context);
  const problem = invalidFolder(explorer.name);
  if (problem !== undefined) context.report(['explorer', 'name'], problem);
  return {
    ...own,
    ...models,
    concurrency: deriveConcurrency(context, buffer.batchSize * algorithm.repeatTimes, algorithm),
    envVars: deriveEnvVars(context),
    evalInterval: deriveEvalInterval(context),
    maxInflightBatches: deriveInflightBatches(context),
    dynamicSampling: { ...own.dynamicSampling, enable: deriveDynamicSampling(context, operators) },
    serve: { host, port, corsOrigins, checkIntervalMs },
  };
}

/**
 * Lower bound of the default concurrency. It lets evaluations fill the engine's batches even if
 * explore steps are small.
 */
const leastConcurrency = 64;

/**
 * Returns the maximum number of rollouts in flight. The default is the number of rollouts in a
 * whole step, but at least {@link leastConcurrency}. The file may instead set a number of runners,
 * each of which handles one task with all its rollouts.
 */
function deriveConcurrency(
  context: StageContext,
  runsPerStep: number,
  { repeatTimes }: AlgorithmConfig,
): number {
  const { explorer } = context.input;
  const { runner_per_model: runners } = explorer;
  return runners === null ? Math.max(leastConcurrency, runsPerStep) : runners * repeatTimes;
}

function explainOverRollout({ input, mode, warn }: StageContext): void {
  if (input.explorer.over_rollout.ratio === 0) return;
  if (mode !== 'both' || input.synchronizer.sync_style !== 'fixed') return;
  warn(
    ['explorer', 'over_rollout', 'ratio'],
    'which tasks are trained on then depends on how long they take, so two runs of this file end in different weights although sync_style is fixed. A run that is stopped and started again still trains every stored experience exactly once.',
  );
}

/** Returns true if dynamic sampling is on. Warns where `dynamic_sampling.enable` has no effect. */
function deriveDynamicSampling(context: StageContext, operators: readonly PartConfig[]): boolean {
  const { enable } = context.input.explorer.dynamic_sampling;
  if (enable === true && context.mode !== 'both')
    context.warn(
      ['explorer', 'dynamic_sampling', 'enable'],
      'ignored. Only mode both draws further tasks.',
    );
  else if (enable === true && operators.length === 0)
    context.warn(
      ['explorer', 'dynamic_sampling', 'enable'],
      'has an effect only where groups are dropped, and no operator does. Add one to data_processor.experience_pipeline.operators, such as dapo_dynamic_sampling or reward_std_filter.',
    );
  return fillsExploreSteps(context);
}

function deriveEnvVars(context: StageContext): Readonly<Record<string, string>> {
  const entries = Object.entries(context.input.explorer.env_vars).map(([name, value]) => {
    const node = nodeAt(context.tree, ['explorer', 'env_vars', name]);
    const source = node?.kind === 'scalar' ? node.source : undefined;
    if (typeof value !== 'object')
      return [name, source ?? String(value as string | number | boolean)] as const;
    if (value !== null)
      context.report(
        ['explorer', 'env_vars', name],
        `got ${showValue(node && plainUnlessSecret(node), [name])}, expected text.`,
      );
    return [name, ''] as const;
  });
  return Object.fromEntries(entries);
}

/**
 * Returns the maximum number of explore steps in flight. If the file does not set it, returns
 * undefined for sync styles in which the explorer waits for the trainer.
 */
function deriveInflightBatches({ input: { explorer, synchronizer } }: StageContext) {
  const { sync_style: style, sync_interval: interval } = synchronizer;
  if (explorer.max_inflight_batches !== null) return explorer.max_inflight_batches;
  if (style === 'fully_async') return 2;
  return style === 'trainer_driven' ? (synchronizer.explorer_sync_interval ?? interval) : undefined;
}

const explorerKey = 'explorer_sync_interval';

/** Sync styles that update weights after a fixed number of explore steps. */
const meetingStyles: readonly string[] = ['fixed', 'explorer_driven'];

/**
 * Returns the evaluation interval, or undefined for 0. In the styles `fixed` and `explorer_driven`,
 * evaluations are made just before weights are updated. So the interval is rounded down to a
 * multiple of the explorer's sync interval, but not below that interval.
 */
function deriveEvalInterval(context: StageContext): number | undefined {
  const { explorer, synchronizer } = context.input;
  const { mode } = context;
  const { eval_interval: given } = explorer;
  if (given === 0) return undefined;
  if (mode === 'bench' || mode === 'train') return given;
  if (!meetingStyles.includes(synchronizer.sync_style)) return given;
  const key = synchronizer.explorer_sync_interval === null ? 'sync_interval' : explorerKey;
  const interval = synchronizer.explorer_sync_interval ?? synchronizer.sync_interval;
  const rounded = Math.max(1, Math.floor(given / interval)) * interval;
  if (rounded !== given && context.isSet('explorer', 'eval_interval')) {
    context.warn(
      ['explorer', 'eval_interval'],
      `${given} becomes ${rounded}, a multiple of ${key} ${interval}: evaluation happens where weights move.`,
    );
  }
  return rounded;
}
