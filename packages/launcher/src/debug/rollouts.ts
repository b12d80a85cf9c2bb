/**
 * Runs of workflows with a model that stays as it is: to try a workflow before training, and to
 * compare models.
 */
import { builtInTables } from '@trinity-rft/algorithm';
import type { ChatFormat } from '@trinity-rft/chat';
import type { ResolvedConfig, StageConfig } from '@trinity-rft/config';
import {
  CancelledError,
  ConfigError,
  createRuntime,
  silentLogger,
  systemClock,
  type Clock,
  type Logger,
  type Task,
} from '@trinity-rft/core';
import { createInstancePool, runTask, type RunOutcome } from '@trinity-rft/explorer';
import {
  createRewardRegistry,
  createWorkflowRegistry,
  type WorkflowDefinition,
} from '@trinity-rft/workflow';
import { openAuxiliaryModels } from '../assembly/models/auxiliary-models.js';
import { openChatFormat } from '../assembly/models/chat-format.js';
import { openEndpoint } from '../assembly/models/endpoint.js';
import { openEngine } from '../assembly/models/engine.js';
import { resolveModelFolder } from '../assembly/models/model-folder.js';
import { modelFactory } from '../assembly/models/rollout-model.js';
import { readTasks } from '../assembly/data/tasks.js';
import type { StageContext } from '../context/stage-context.js';

export interface RolloutsOptions {
  readonly config: ResolvedConfig;
  /** That rows of the task set may name. @default the built-in ones */
  readonly workflows?: readonly WorkflowDefinition[];
  /** Hears of failed attempts. @default silent */
  readonly logger?: Logger;
  /** @default the system clock */
  readonly clock?: Clock;
  /** Ends what is in progress. */
  readonly signal?: AbortSignal;
}

export interface Rollouts {
  /** Rows of the first task set, each to be run once. */
  readonly tasks: readonly Task[];
  /**
   * One run, with deadline and further attempts as configured; what the workflow does wrong is in
   * the outcome. Writes nothing.
   */
  run(task: Task, definition: WorkflowDefinition): Promise<RunOutcome>;
  close(): Promise<void>;
}

/**
 * Opens the model that the run would begin with, and the auxiliary models of its first stage that
 * explores. Nothing of the run's folder is read or written. @throws ConfigError, TaskError when
 * model, data or auxiliary models cannot be used
 */
export async function openRollouts(options: RolloutsOptions): Promise<Rollouts> {
  const { config, workflows = [], logger = silentLogger, clock = systemClock } = options;
  const stage = exploringStage(config);
  const closed = new AbortController();
  const signal = options.signal ? AbortSignal.any([options.signal, closed.signal]) : closed.signal;
  const context: StageContext = {
    stage,
    startModel: await resolveModelFolder(config.stages[0] ?? stage),
    endedBefore: false,
    runtime: createRuntime({ seed: stage.seed, clock, logger }),
    openSink: () => ({ write: () => undefined, close: () => Promise.resolve() }),
    workflows: createWorkflowRegistry(workflows),
    rewardFns: createRewardRegistry([]),
    algorithms: builtInTables,
    signal,
    expectSteps: () => undefined,
  };
  const tasks = await readTasks(context, 'trial');
  const format = await openChatFormat(context);
  const { engine, endpoint, auxiliary, close } = await openModels(context, format);
  const shared = {
    createModel: modelFactory(context, { sampler: engine.sampler, format, auxiliary, endpoint }),
    settings: stage.explorer,
    limit: <T>(work: () => Promise<T>): Promise<T> => work(),
    pool: createInstancePool(),
    runtime: context.runtime,
    signal: AbortSignal.any([signal, engine.gone, auxiliary.gone]),
  };
  return {
    tasks,
    run: async (task, definition) => {
      const { runs } = await runTask({ ...task, repeatTimes: 1 }, { ...shared, definition });
      return runs[0]!;
    },
    close: async () => {
      closed.abort(
        new CancelledError('The rollouts were closed.', {
          code: 'ROLLOUTS_CLOSED',
          reason: 'shutdown',
        }),
      );
      await close();
    },
  };
}

/** Opened in this order, closed in the other. */
async function openModels(context: StageContext, format: ChatFormat) {
  const engine = await openEngine(context, { reference: false, format });
  try {
    await engine.trainer.publish(0);
    await engine.sampler.adopt({ kind: 'published' }, 0);
    const endpoint = await openEndpoint(context);
    try {
      const auxiliary = await openAuxiliaryModels(context, endpoint);
      const close = async (): Promise<void> => {
        await auxiliary.close();
        await endpoint.close();
        await engine.close();
      };
      return { engine, endpoint, auxiliary, close };
    } catch (error) {
      await endpoint.close();
      throw error;
    }
  } catch (error) {
    await engine.close();
    throw error;
  }
}

/** The first that explores. @throws ConfigError when there is none */
export function exploringStage({ stages }: ResolvedConfig): StageConfig {
  const stage = stages.find(({ mode }) => mode === 'both');
  if (stage) return stage;
  throw new ConfigError(
    'No stage of the run explores, so no workflow can run. Give it mode: both.',
    { code: 'NOTHING_EXPLORES' },
  );
}
