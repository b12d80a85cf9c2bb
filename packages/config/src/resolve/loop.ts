/** How the loop turns: explorer, trainer, synchronizer, monitor and log. */
import { join } from 'node:path';
import type { LogLevel } from '@trinity-rft/core';
import type {
  BufferConfig,
  ExplorerConfig,
  LogConfig,
  MonitorConfig,
  OptimizerConfig,
  SynchronizerConfig,
  TrainerConfig,
} from './base/resolved.js';
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
  return {
    name: explorer.name,
    concurrency: deriveConcurrency(context, buffer.batchSize, repeatTimes),
    maxTimeoutMs: explorer.max_timeout * 1000,
    maxRetryTimes: explorer.max_retry_times,
    failureReward: explorer.failure_reward ?? undefined,
    experienceShape: explorer.experience_shape,
    reasoningHistory: explorer.reasoning_history,
    constrainedDecoding: explorer.constrained_decoding,
    envVars: deriveEnvVars(context),
    ...models,
    evalInterval: deriveEvalInterval(context),
    evalOnStartup: explorer.eval_on_startup,
    benchOnLatestCheckpoint: explorer.bench_on_latest_checkpoint,
    serve: {
      host: explorer.listen_address,
      port: explorer.proxy_port,
      checkIntervalMs: explorer.service_status_check_interval * 1000,
    },
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

export function deriveTrainer(context: StageContext, optimizer: OptimizerConfig): TrainerConfig {
  const { trainer } = context.input;
  return {
    name: trainer.name,
    saveInterval: trainer.save_interval === 0 ? undefined : trainer.save_interval,
    totalSteps: trainer.total_steps ?? undefined,
    maxCheckpointsToKeep:
      trainer.max_checkpoints_to_keep === null || trainer.max_checkpoints_to_keep === 0
        ? undefined
        : trainer.max_checkpoints_to_keep,
    enablePreview: trainer.enable_preview,
    critic: deriveCritic(context, optimizer),
  };
}

export function deriveSynchronizer(context: StageContext): SynchronizerConfig {
  const { synchronizer } = context.input;
  return {
    syncMethod: synchronizer.sync_method === 'checkpoint' ? 'checkpoint' : 'memory',
    // Other styles are refused by the status table.
    syncStyle: synchronizer.sync_style === 'explorer_driven' ? 'explorer_driven' : 'fixed',
    syncInterval: synchronizer.sync_interval,
    syncOffset: synchronizer.sync_offset,
    syncTimeoutMs: synchronizer.sync_timeout * 1000,
  };
}

export function deriveMonitor(context: StageContext, jobDirectory: string): MonitorConfig {
  const { monitor } = context.input;
  return {
    sinks: monitor.monitor_type.includes('tensorboard') ? ['tensorboard'] : [],
    directory: join(jobDirectory, 'monitor'),
    detailedStats: monitor.detailed_stats,
  };
}

const logLevels = {
  DEBUG: 'debug',
  INFO: 'info',
  WARNING: 'warn',
  ERROR: 'error',
} as const satisfies Record<string, LogLevel>;

export function deriveLog(context: StageContext, jobDirectory: string): LogConfig {
  return { level: logLevels[context.input.log.level], directory: join(jobDirectory, 'log') };
}
