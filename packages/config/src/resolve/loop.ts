/** The two sides of the loop: explorer and trainer. */
import type {
  BufferConfig,
  ExplorerConfig,
  OptimizerConfig,
  TrainerConfig,
} from './base/resolved.js';
import { resolveSection } from '../schema/resolve-section.js';
import { showValue } from '../source/secrets.js';
import type { StageContext } from './base/context.js';
import { deriveCritic } from './algorithm/optimizer.js';

export function deriveExplorer(
  context: StageContext,
  models: Pick<ExplorerConfig, 'rolloutModel' | 'auxiliaryModels'>,
  buffer: BufferConfig,
  repeatTimes: number,
): ExplorerConfig {
  const { explorer } = context.input;
  const { host, port, checkIntervalMs, ...own } = resolveSection(
    context.sections.explorer,
    explorer,
  );
  return {
    ...own,
    ...models,
    concurrency: deriveConcurrency(context, buffer.batchSize, repeatTimes),
    envVars: deriveEnvVars(context),
    evalInterval: deriveEvalInterval(context),
    serve: { host, port, checkIntervalMs },
  };
}

/** Enough to fill the engine's batches in an evaluation, whatever a step explores. */
const leastConcurrency = 64;

/**
 * A runner of the original has one task in hand with all its repeats. Unset: everything of a step
 * at once; the engine batches.
 */
function deriveConcurrency(context: StageContext, batchSize: number, repeatTimes: number): number {
  const { explorer } = context.input;
  if (explorer.runner_num !== null)
    context.warn(['explorer', 'runner_num'], 'is an old name; it is read as runner_per_model.');
  const runners = explorer.runner_per_model ?? explorer.runner_num;
  return runners === null
    ? Math.max(leastConcurrency, batchSize * repeatTimes)
    : runners * repeatTimes;
}

function deriveEnvVars(context: StageContext): Readonly<Record<string, string>> {
  const entries = Object.entries(context.input.explorer.env_vars).map(([name, value]) => {
    if (typeof value === 'object' && value !== null) {
      context.report(
        ['explorer', 'env_vars', name],
        `got ${showValue(value, [name])}, expected text.`,
      );
    }
    return [
      name,
      value === null || typeof value === 'object' ? '' : String(value as string | number | boolean),
    ] as const;
  });
  return Object.fromEntries(entries);
}

/**
 * Evaluation happens before weights move, so its interval is a multiple of theirs: rounded down, at
 * least one.
 */
function deriveEvalInterval(context: StageContext): number | undefined {
  const { explorer, synchronizer, mode } = context.input;
  const { eval_interval: given } = explorer;
  if (given === 0) return undefined;
  if (mode === 'bench' || mode === 'train') return given;
  const rounded =
    Math.max(1, Math.floor(given / synchronizer.sync_interval)) * synchronizer.sync_interval;
  if (rounded !== given && context.isSet('explorer', 'eval_interval')) {
    context.warn(
      ['explorer', 'eval_interval'],
      `${given} becomes ${rounded}, a multiple of sync_interval ${synchronizer.sync_interval}: evaluation happens where weights move.`,
    );
  }
  return rounded;
}

export const deriveTrainer = (
  context: StageContext,
  optimizer: OptimizerConfig,
): TrainerConfig => ({
  ...resolveSection(context.sections.trainer, context.input.trainer),
  critic: deriveCritic(context, optimizer),
});
