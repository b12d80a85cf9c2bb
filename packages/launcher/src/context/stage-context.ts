/** Input of every mode: the stage to run, and what all stages share. */
import type { AlgorithmTables } from '@trinity-rft/algorithm';
import type { StageConfig } from '@trinity-rft/config';
import type { RowDriver } from '@trinity-rft/buffer/driver';
import type { Environment, TaskOperatorTable } from '@trinity-rft/buffer/internal';
import type { MetricSink, Monitor, Runtime } from '@trinity-rft/core';
import type { EngineFactory } from '@trinity-rft/core/engine';
import type { EvaluatedSet, ExploreProgress } from '@trinity-rft/explorer';
import type { OnPause } from '@trinity-rft/explorer/internal';
import type { ResumePoint } from '@trinity-rft/monitor';
import type { RewardDefinition } from '@trinity-rft/workflow/reward';
import type { Synchronizer } from '@trinity-rft/synchronizer';
import type { WorkflowDefinition } from '@trinity-rft/workflow';
import type { Registry } from '@trinity-rft/workflow/internal';
import type { Environments } from '../outer/outer.js';

/** Engines by name; the first one is the default. */
export type EngineTable = Readonly<Record<string, EngineFactory>>;

/** Parts that a task set may name. */
export interface TaskParts {
  readonly workflows: Registry<WorkflowDefinition>;
  readonly rewardFns: Registry<RewardDefinition>;
}

/** Parts that a configuration may name: built-in ones, and those of plugins and programs. */
export interface Extensions extends TaskParts {
  /** Environments, opened by the workflows that play them and closed at the end of the run. */
  readonly environments: Environments;
  readonly taskOperators: TaskOperatorTable;
  readonly algorithms: AlgorithmTables;
  readonly engines: EngineTable;
  readonly monitors: readonly Monitor[];
  /** Opens the rows of the store at a path. @default SQLite */
  readonly openRows?: ((path: string) => RowDriver) | undefined;
  /** Modules of plugins. */
  readonly pluginFiles: readonly string[];
}

/** Options of a run that its caller sets for all stages. */
export interface ModeOptions {
  readonly extensions: Extensions;
  /** Interrupts the run, which then finishes its step, saves a checkpoint and stops. */
  readonly signal: AbortSignal;
  /**
   * True to replace an earlier run of this name in the shared store, which keeps that run under
   * another name.
   * @default false
   */
  readonly newRun?: boolean;
  /** Time in ms without a trainer before an explorer explores alone. @default no limit */
  readonly aloneAfterMs?: number;
  /** Options of stages in mode `serve`. */
  readonly serve?: ServeOptions;
  /** Options of stages in mode `bench`. */
  readonly evaluation?: EvaluationOptions;
}

export interface StageContext extends ModeOptions {
  readonly stage: StageConfig;
  /** Model folder that the stage starts from. */
  readonly startModel: string;
  /** True if an earlier process completed the stage; the stage may have become longer since. */
  readonly endedBefore: boolean;
  /** True if an earlier process has started the steps of the stage. */
  readonly hasBegun: boolean;
  readonly runtime: Runtime;
  /** Environment variables of the run and of `explorer.env_vars`. */
  readonly env: Environment;
  /** Opens the metric files, once the step at which the stage continues is known. */
  readonly openSink: (resume: ResumePoint) => MetricSink;
  /** Shows the progress of the runs on the console. */
  readonly onProgress: (progress: ExploreProgress) => void;
  /** Writes a line to the console and the log. */
  readonly say: (line: string) => void;
  /** Called with the number of train steps as soon as it is known. */
  readonly expectSteps: (total: number | undefined) => void;
  /** Lets `trinity status` see the waits of explorer and trainer. @default no status */
  readonly watch?: (synchronizer: Synchronizer) => Synchronizer;
  /** Lets `trinity status` see that runs wait for their environment. @default only a log message */
  readonly onPause?: OnPause;
  /** Key with which a client may reward any run by its id. @default each run's own key */
  readonly rewardKey?: string | undefined;
}

/** Options of mode `bench` that the caller sets. */
export interface EvaluationOptions {
  /**
   * `base` (the weights before training), `last`, `best`, or numbers of train steps.
   * @default as set by `eval_on_startup` and `bench_on_latest_checkpoint`
   */
  readonly checkpoints: readonly string[];
  /**
   * Folder or GGUF file that replaces the model as the only checkpoint, `base`. @default the model
   * of the run
   */
  readonly model?: string | undefined;
  /** Called for each evaluated checkpoint, in ascending order of train steps. */
  readonly onCheckpoint: (checkpoint: EvaluatedCheckpoint) => void;
}

export interface EvaluatedCheckpoint {
  /** Train step; 0 is the weights before training. */
  readonly step: number;
  /** Folder of the checkpoint; undefined for the weights before training. */
  readonly directory: string | undefined;
  readonly isLast: boolean;
  readonly sets: readonly EvaluatedSet[];
}

/** Options of mode `serve` that the caller sets. */
export interface ServeOptions {
  /** @default `explorer.listen_address` */
  readonly host?: string;
  /** Port; 0 picks any free one. @default `explorer.proxy_port` */
  readonly port?: number;
  /** The key that clients have to send. @default a random one */
  readonly apiKey?: string;
  /** False if another process trains, in mode `train`. @default true */
  readonly train?: boolean;
  /** Time in ms to wait for requests in progress at the end. @default 30_000 */
  readonly drainMs?: number;
  /** Called when the server accepts requests. */
  readonly onOpen?: (address: ServeAddress) => void;
}

export interface ServeAddress {
  /** `http://HOST:PORT` */
  readonly url: string;
  /** A secret for the person or program that started the server; must not be logged. */
  readonly apiKey: string;
  /** The served model as a line of text: run, train step, checkpoint, evaluation. */
  readonly model: string;
}

export interface StageResult {
  readonly interrupted: boolean;
  /** True if an earlier process completed the stage and nothing was left to do. */
  readonly doneBefore: boolean;
  /** The last train step of the stage; a train step may update the weights several times. */
  readonly trainStep: number;
  /** Folder of the last checkpoint, if there is one. */
  readonly checkpoint: string | undefined;
}

/** Result of a stage at a train step. By default, this process has completed the stage. */
export const stageResult = (trainStep: number, checkpoint?: string): StageResult => ({
  interrupted: false,
  doneBefore: false,
  trainStep,
  checkpoint,
});
