/** Trains the model that a workflow function uses. */
import type { RawTask } from '@trinity-rft/core';
import { run, standardTerminal, type RunSummary, type Terminal } from '@trinity-rft/launcher';
import type { AgentModel } from '@trinity-rft/workflow';
import { adapterWorkflow, type Functions } from '../functions/adapter-workflow.js';
import { dryRun } from './dry-run.js';
import {
  checkJudgeFunction,
  checkOptions,
  checkWorkflowFunction,
  type JudgeType,
  type ModelAdapter,
  type WorkflowType,
} from '../functions/functions.js';
import { plan, type ConfigFile, type PlanSettings } from '../config/plan.js';

/** Settings of a call that are not part of the configuration. */
export interface RunSettings {
  /**
   * Signal that stops training after the current step. A checkpoint is then written, and calling
   * the function again with the same options resumes from it.
   */
  readonly signal?: AbortSignal;
  /** Terminal for progress output. @default standard output */
  readonly terminal?: Terminal;
  /**
   * True to run the first row before training, to find errors in the functions. Skipped if a
   * training run is resumed. @default true
   */
  readonly dryRun?: boolean;
}

/** Options of `tune`. Without `adapter`, the workflow function receives an {@link AgentModel}. */
export interface TuneOptions<Row = RawTask, Response = unknown, Model = AgentModel>
  extends PlanSettings, RunSettings {
  readonly workflowFunc: WorkflowType<Row, Response, Model>;
  /**
   * Judge that scores the responses. The reward of the workflow function is then ignored.
   * @default no judge
   */
  readonly judgeFunc?: JudgeType<Row, Response, Model>;
  /** Function that creates your framework's model objects. @default undefined: no adapter */
  readonly adapter?: ModelAdapter<Model>;
}

/** Options with an adapter, which is required if `Model` is not {@link AgentModel}. */
export type AdaptedTuneOptions<Row, Response, Model> = TuneOptions<Row, Response, Model> & {
  readonly adapter: ModelAdapter<Model>;
};

/**
 * Trains the model. Checkpoints and metrics are written to `checkpoints/<project>/<experiment>/`.
 * An existing experiment of the same name is resumed.
 * @throws InvalidFunctionError for invalid functions; ConfigError for invalid arguments or files;
 * TaskError for invalid data; InvalidOutputError or WorkflowError DRY_RUN_FAILED from the dry run
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
  checkOptions(
    'tune()',
    options,
    'adapter terminal dryRun configPath algorithms env trainDataset evalDataset model auxiliaryModels algorithm projectName experimentName monitorType',
  );
  checkWorkflowFunction(options.workflowFunc);
  if (options.judgeFunc !== undefined) checkJudgeFunction(options.judgeFunc);
  return train('tune()', options, options);
}

/** Trains with the settings that `tune` and `learn` have in common. */
export async function train<Row, Response, Model>(
  caller: string,
  functions: Functions<Row, Response, Model>,
  settings: PlanSettings & RunSettings,
  file?: ConfigFile,
): Promise<RunSummary> {
  const { loaded } = plan(caller, settings, file);
  const { signal, env, cwd, clock, algorithms, terminal = standardTerminal() } = settings;
  const workflow = adapterWorkflow(functions);
  // A run that resumes has passed its dry run before.
  if (settings.dryRun !== false && !loaded.config.resume)
    await dryRun({ config: loaded.config, workflow, terminal, clock, signal });
  const summary = await run({
    configPath: loaded,
    workflows: [workflow],
    algorithms,
    terminal,
    signal,
    env,
    cwd,
    clock,
  });
  const { interrupted, trainStep, checkpoint } = summary;
  const ended = interrupted ? 'Interrupted' : 'Done';
  if (checkpoint !== undefined)
    terminal.write(`${ended} after train step ${trainStep}: ${checkpoint}\n`);
  return summary;
}
