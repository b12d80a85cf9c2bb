/** Runs workflows that code passes in, with a model whose weights do not change. */
import type { ResolvedConfig } from '@trinity-rft/config';
import {
  type Clock,
  type Logger,
  type Task,
  CancelledError,
  silentLogger,
} from '@trinity-rft/core';
import { createInstancePool, type RunOutcome } from '@trinity-rft/explorer';
import type { WorkflowDefinition } from '@trinity-rft/workflow';
import {
  loadExtensions,
  modelFactory,
  openFrozenModels,
  readTasks,
  resolveModelFolder,
} from '@trinity-rft/launcher/parts';
import type { ExtensionOptions } from '@trinity-rft/launcher';
import { exploringStage, frozenContext } from './frozen-context.js';
import { runOnce } from './run-once.js';

interface RolloutsOptions extends Pick<ExtensionOptions, 'workflows' | 'engines'> {
  readonly config: ResolvedConfig;
  /** Receives log messages, such as those about failed attempts. @default no logger */
  readonly logger?: Logger;
  /** Source of the time. @default the system clock */
  readonly clock?: Clock;
  /** Cancels rollouts in progress. */
  readonly signal?: AbortSignal;
}

export interface Rollouts {
  /** Rows of the first task set, each to be run once. */
  readonly tasks: readonly Task[];
  /**
   * Runs a task once, with the timeout and the retries of the configuration. Errors of the workflow
   * are part of the outcome. Writes nothing.
   */
  run(task: Task, definition: WorkflowDefinition): Promise<RunOutcome>;
  close(): Promise<void>;
}

/**
 * Opens the model that the run would start from, and the auxiliary models of the first stage that
 * explores. Neither reads nor writes the run's folder.
 * @throws ConfigError when the model or an auxiliary model cannot be used; TaskError when the data
 * cannot be used
 */
export async function openRollouts(options: RolloutsOptions): Promise<Rollouts> {
  const { config, workflows, engines, logger = silentLogger, clock } = options;
  const stage = exploringStage(config);
  const closed = new AbortController();
  const signal = options.signal ? AbortSignal.any([options.signal, closed.signal]) : closed.signal;
  const context = frozenContext({
    stage,
    startModel: await resolveModelFolder(config.stages[0]),
    extensions: await loadExtensions({ workflows, engines }),
    logger,
    clock,
    signal,
  });
  const { extensions, runtime } = context;
  const tasks = await readTasks(stage, 'trial', extensions, context);
  const models = await openFrozenModels(context);
  const shared = {
    createModel: modelFactory(stage, runtime, models),
    settings: stage.explorer,
    pool: createInstancePool(),
    runtime,
    signal: AbortSignal.any([signal, models.engineFailed]),
  };
  return {
    tasks,
    run: (task, definition) => runOnce(task, { ...shared, definition }),
    close: async () => {
      closed.abort(
        new CancelledError('The rollouts were closed.', {
          code: 'ROLLOUTS_CLOSED',
          reason: 'shutdown',
        }),
      );
      await models.close();
    },
  };
}
