/** Input of every mode: the stage to run, and what all stages share. */
import type { AlgorithmTables } from '@trinity-rft/algorithm';
import type { StageConfig } from '@trinity-rft/config';
import type { RowDriver } from '@trinity-rft/buffer/driver';
import type { TaskOperatorTable } from '@trinity-rft/buffer/internal';
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

/** Parts that a configuration may name: the built-in parts, those of plugins and those of programs. */
export interface Extensions extends TaskParts {
  /** Opened by the workflows that play them, closed at the end of the run. */
  readonly environments: Environments;
  readonly taskOperators: TaskOperatorTable;
  readonly algorithms: AlgorithmTables;
  readonly engines: EngineTable;
  readonly monitors: readonly Monitor[];
  /** Opens the rows of the store at a path. @default SQLite does */
  readonly openRows?: ((path: string) => RowDriver) | undefined;
  /** Modules of plugins. */
  readonly pluginFiles: readonly string[];
}

/** Options of a run from its caller, for the modes of all its stages. */
export interface ModeOptions {
  readonly extensions: Extensions;
  /** Interrupts the run: finish the step, save, stop. */
  readonly signal: AbortSignal;
  /** Sets an earlier run of this name aside in the store that processes share. @default false */
  readonly newRun?: boolean;
  /** An explorer that no trainer joins for so long explores alone. @default it waits for one */
  readonly aloneAfterMs?: number;
  /** Mode `serve`. */
  readonly serve?: ServeOptions;
  /** Mode `bench`. */
  readonly evaluation?: EvaluationOptions;
}

export interface StageContext extends ModeOptions {
  readonly stage: StageConfig;
  /** Model folder that the stage starts from. */
  readonly startModel: string;
  /** An earlier process completed the stage, which may have become longer since. */
  readonly endedBefore: boolean;
  /** An earlier process has begun with the steps of the stage. */
  readonly hasBegun: boolean;
  readonly runtime: Runtime;
  /** Opens the metric files, once it is known at which step the stage continues. */
  readonly openSink: (resume: ResumePoint) => MetricSink;
  /** Shows on the console what is in progress. */
  readonly onProgress: (progress: ExploreProgress) => void;
  /** Says something on the console and in the log. */
  readonly say: (line: string) => void;
  /** Called with the number of train steps as soon as it is known. */
  readonly expectSteps: (total: number | undefined) => void;
  /** Lets `trinity status` see what explorer and trainer wait for. @default nothing sees it */
  readonly watch?: (synchronizer: Synchronizer) => Synchronizer;
  /** Lets it see that runs wait for their environment. @default only the log says it */
  readonly onPause?: OnPause;
  /** Lets rewards come by the id of a run alone. @default they need the key of the run */
  readonly rewardKey?: string | undefined;
}

/** Options of mode `bench` from its caller. */
export interface EvaluationOptions {
  /**
   * `base` (the weights before training), `last`, `best`, or numbers of train steps.
   * @default those that `eval_on_startup` and `bench_on_latest_checkpoint` name
   */
  readonly checkpoints: readonly string[];
  /** Folder or GGUF file that takes the place of the model; then it alone is `base`. @default that of the run */
  readonly model?: string | undefined;
  /** Called for each evaluated checkpoint, by rising step. */
  readonly onCheckpoint: (checkpoint: EvaluatedCheckpoint) => void;
}

export interface EvaluatedCheckpoint {
  /** Train step; 0: the weights before training. */
  readonly step: number;
  /** Folder; undefined: the weights before training. */
  readonly directory: string | undefined;
  readonly isLast: boolean;
  readonly sets: readonly EvaluatedSet[];
}

/** Options of mode `serve` from its caller. */
export interface ServeOptions {
  /** @default `explorer.listen_address` */
  readonly host?: string;
  /** 0 = any free port. @default `explorer.proxy_port` */
  readonly port?: number;
  /** The key that clients have to send. @default a random one */
  readonly apiKey?: string;
  /** False: another process trains, in mode `train`. @default true */
  readonly train?: boolean;
  /** How long to wait at the end for requests in progress, in ms. @default 30_000 */
  readonly drainMs?: number;
  /** Called when the server accepts requests. */
  readonly onOpen?: (address: ServeAddress) => void;
}

export interface ServeAddress {
  /** `http://HOST:PORT` */
  readonly url: string;
  /** A secret: for the person or program that started the server, never for a log. */
  readonly apiKey: string;
  /** The served model as a line of text: run, train step, checkpoint, evaluation. */
  readonly model: string;
}

export interface StageResult {
  readonly interrupted: boolean;
  /** An earlier process completed the stage, and nothing was left to do. */
  readonly doneBefore: boolean;
  /** The last train step of the stage; a train step may update the weights several times. */
  readonly trainStep: number;
  /** Folder of the last checkpoint, if there is one. */
  readonly checkpoint: string | undefined;
}
