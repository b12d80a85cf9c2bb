/** Input of every mode: the stage to execute, and the parts that all stages share. */
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
import type { WorkflowDefinition } from '@trinity-rft/workflow';
import type { Registry } from '@trinity-rft/workflow/internal';
import type { Environments } from '../outer/outer.js';
import type { WatchSynchronizer } from '../watch/watch-process.js';

/** Engines by name. The first engine is the default. */
export type EngineTable = Readonly<Record<string, EngineFactory>>;

/** Workflows and reward functions that a task set may name. */
export interface TaskParts {
  readonly workflows: Registry<WorkflowDefinition>;
  readonly rewardFns: Registry<RewardDefinition>;
}

/** Parts that a configuration may name: built-in parts, and parts of plugins and programs. */
export interface Extensions extends TaskParts {
  /** Environments that workflows open. They are closed at the end of the training run. */
  readonly environments: Environments;
  readonly taskOperators: TaskOperatorTable;
  readonly algorithms: AlgorithmTables;
  readonly engines: EngineTable;
  readonly monitors: readonly Monitor[];
  /** Opens storage for experiences at a path. @default storage in SQLite */
  readonly openRows?: ((path: string) => RowDriver) | undefined;
  /** Paths of the plugins' modules. */
  readonly pluginFiles: readonly string[];
}

/** Options that the caller of a training run sets for all stages. */
export interface ModeOptions {
  readonly extensions: Extensions;
  /**
   * Signal that interrupts the training run, which then finishes its step, saves its progress and
   * stops.
   */
  readonly signal: AbortSignal;
  /**
   * True to start over if the shared store has an earlier training run of this name. The store
   * keeps the earlier training run under another name.
   * @default false
   */
  readonly newRun?: boolean;
  /** Time in ms that an explorer waits for a trainer before it explores alone. @default no limit */
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
  /**
   * True if an earlier process completed the stage. The configured number of steps may have
   * increased since then.
   */
  readonly endedBefore: boolean;
  /** True if an earlier process has started the steps of the stage. */
  readonly hasBegun: boolean;
  readonly runtime: Runtime;
  /** Environment variables of the training run, and `explorer.env_vars`. */
  readonly env: Environment;
  /** Opens the metric files. Called when the step at which the stage continues is known. */
  readonly openSink: (resume: ResumePoint) => MetricSink;
  /** Shows the progress of the rollouts on the console. */
  readonly onProgress: (progress: ExploreProgress) => void;
  /** Writes a line to the console and the log. */
  readonly say: (line: string) => void;
  /** Called with the number of train steps as soon as it is known. */
  readonly expectSteps: (total: number | undefined) => void;
  /**
   * Wraps the synchronizer so that `trinity status` can show the waits of explorer and trainer.
   * @default undefined: the waits are not shown
   */
  readonly watch?: WatchSynchronizer;
  /**
   * Called when rollouts wait for their environment, or the explorer for rewards, so that `trinity
   * status` can show this wait.
   * @default undefined: the wait is only logged
   */
  readonly onPause?: OnPause;
  /**
   * Key with which a client may reward any rollout by its id. @default undefined: only the
   * rollout's own key is accepted
   */
  readonly rewardKey?: string | undefined;
}

/** Options of mode `bench` that the caller sets. */
export interface EvaluationOptions {
  /**
   * Checkpoints to evaluate: `base` (the weights before training), `last`, `best`, or numbers of
   * train steps.
   * @default the checkpoints that `eval_on_startup` and `bench_on_latest_checkpoint` select
   */
  readonly checkpoints: readonly string[];
  /**
   * Folder or GGUF file that replaces the model and is the only checkpoint (`base`). @default the
   * model of the training run
   */
  readonly model?: string | undefined;
  /**
   * Folder or GGUF file of a model that is evaluated afterwards. A configuration with which it cannot
   * be evaluated is refused before anything is.
   * @default no other model
   */
  readonly baseline?: string | undefined;
  /**
   * Name of the model that the console shows instead of the step, if it is no checkpoint of the
   * training run.
   * @default the step and the policy version
   */
  readonly label?: string | undefined;
  /** Called for each evaluated checkpoint, in ascending order of train steps. */
  readonly onCheckpoint: (checkpoint: EvaluatedCheckpoint) => void;
}

export interface EvaluatedCheckpoint {
  /** Train step of the weights; 0 for the weights before training. */
  readonly step: number;
  /** Folder of the checkpoint; undefined for the weights before training. */
  readonly directory: string | undefined;
  readonly isLast: boolean;
  readonly sets: readonly EvaluatedSet[];
}

/** Options of mode `serve` that the caller sets. */
export interface ServeOptions {
  /** Address to listen on. @default `explorer.listen_address` */
  readonly host?: string;
  /** Port; 0 selects any free port. @default `explorer.proxy_port` */
  readonly port?: number;
  /** Key that clients have to send. @default a random key */
  readonly apiKey?: string;
  /**
   * True to train in this process; false to only serve, while another process trains in mode
   * `train`. @default true
   */
  readonly train?: boolean;
  /** Maximum time in ms to wait for open requests when the server stops. @default 30_000 */
  readonly drainMs?: number;
  /** Called when the server accepts requests. */
  readonly onOpen?: (address: ServeAddress) => void;
}

export interface ServeAddress {
  /** URL of the server, `http://HOST:PORT`. */
  readonly url: string;
  /** Secret key of the server, for the user or program that started it. Must not be logged. */
  readonly apiKey: string;
  /**
   * Description of the served model in one line: training run, train step, checkpoint, evaluation.
   */
  readonly model: string;
}

export interface StageResult {
  readonly interrupted: boolean;
  /** True if an earlier process completed the stage and nothing was left to do. */
  readonly doneBefore: boolean;
  /** Last train step of the stage. A train step may update the weights several times. */
  readonly trainStep: number;
  /** Folder of the last checkpoint, if there is one. */
  readonly checkpoint: string | undefined;
}

/** Returns the result of a stage that this process has completed at a train step. */
export const stageResult = (trainStep: number, checkpoint?: string): StageResult => ({
  interrupted: false,
  doneBefore: false,
  trainStep,
  checkpoint,
});
