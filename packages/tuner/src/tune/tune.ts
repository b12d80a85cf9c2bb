/** `tune`: trains the model behind a workflow function. */
import type { RawTask } from '@trinity-rft/core';
import { run, standardTerminal, type RunSummary, type Terminal } from '@trinity-rft/launcher';
import type { AgentModel } from '@trinity-rft/workflow';
import { adapterWorkflow, type Functions } from '../functions/adapter-workflow.js';
import { dryRun } from './dry-run.js';
import {
  checkJudgeFunction,
  checkWorkflowFunction,
  type JudgeType,
  type ModelAdapter,
  type WorkflowType,
} from '../functions/functions.js';
import { plan, type ConfigFile, type PlanSettings } from '../config/plan.js';

/** Beside the functions and the configuration. */
export interface RunSettings {
  /**
   * Interrupts: the step in progress is finished, a checkpoint written; the same call goes on from
   * there.
   */
  readonly signal?: AbortSignal | undefined;
  /** Where progress goes. @default standard output */
  readonly terminal?: Terminal | undefined;
  /** Try the first row before anything is trained. @default true */
  readonly dryRun?: boolean | undefined;
}

/** Without `adapter` the model is an {@link AgentModel}. */
export interface TuneOptions<Row = RawTask, Response = unknown, Model = AgentModel>
  extends PlanSettings, RunSettings {
  readonly workflowFunc: WorkflowType<Row, Response, Model>;
  /**
   * Its reward counts, and that of the workflow does not.
   * @default the workflow gives the reward
   */
  readonly judgeFunc?: JudgeType<Row, Response, Model> | undefined;
  /** Makes the models of your framework. */
  readonly adapter?: ModelAdapter<Model> | undefined;
}

/** With an adapter, as its models are not those of this project. */
export type AdaptedTuneOptions<Row, Response, Model> = TuneOptions<Row, Response, Model> & {
  readonly adapter: ModelAdapter<Model>;
};

/**
 * Trains. Checkpoints and curves go to `checkpoints/<project>/<experiment>/`; an experiment of the
 * same name goes on where it was.
 * @throws InvalidFunctionError, ConfigError, TaskError for what is wrong with functions, arguments,
 * file or data; InvalidOutputError and WorkflowError DRY_RUN_FAILED from the dry run
 */
export function tune<Row = RawTask, Response = unknown>(
  options: TuneOptions<Row, Response>,
): Promise<RunSummary>;
export function tune<Row, Response, Model>(
  options: AdaptedTuneOptions<Row, Response, Model>,
): Promise<RunSummary>;
export async function tune<Row, Response, Model>(
  options: TuneOptions<Row, Response, Model>,
): Promise<RunSummary> {
  checkWorkflowFunction(options.workflowFunc);
  if (options.judgeFunc !== undefined) checkJudgeFunction(options.judgeFunc);
  return train('tune()', options, options);
}

/** Shared by `tune` and `learn`. */
export async function train<Row, Response, Model>(
  caller: string,
  functions: Functions<Row, Response, Model>,
  settings: PlanSettings & RunSettings,
  file?: ConfigFile,
): Promise<RunSummary> {
  const { loaded } = plan(caller, settings, file);
  const { signal, env, cwd, clock, algorithms, terminal = standardTerminal() } = settings;
  const workflow = adapterWorkflow(functions);
  // A run that goes on has passed it before.
  if (settings.dryRun !== false && !loaded.config.resume)
    await dryRun({ config: loaded.config, workflow, signal });
  return run({
    configPath: loaded,
    workflows: [workflow],
    ...(algorithms && { algorithms }),
    terminal,
    ...(signal && { signal }),
    ...(env && { env }),
    ...(cwd !== undefined && { cwd }),
    ...(clock && { clock }),
  });
}
