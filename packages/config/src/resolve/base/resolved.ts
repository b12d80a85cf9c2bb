/**
 * Resolved configuration: plain data, camelCase, grouped as the
 * YAML is. Most values of a group follow from the schema of its section, which also describes them;
 * this file adds those that are derived from several keys, other sections or the disk.
 */
import type { DataSchema, LossAggMode } from '@trinity-rft/algorithm';
import type { RolloutCorrection } from '@trinity-rft/algorithm/internal';
import type { AlgorithmNeeds } from '@trinity-rft/core';
import type { ServerAddress } from '@trinity-rft/core/engine';
import type { RolloutArgs } from '@trinity-rft/core/internal';
import type { BatchUnit } from '@trinity-rft/core/store';
import type { algorithmSection, optimizer } from '../../schema/algorithm.js';
import type { buffer, rowsKeys, storeKeys, taskset } from '../../schema/buffer.js';
import type { rowFormat, taskSelector } from '../../schema/data.js';
import type { samplerNames } from '../../schema/engines.js';
import type { explorerSection, serveKeys } from '../../schema/explorer.js';
import type { auxiliaryModelItem, rolloutModelSection } from '../../schema/inference.js';
import type { model } from '../../schema/model.js';
import type { Inherited, Resolved } from '../../schema/resolve-section.js';
import type {
  cluster,
  log,
  monitor,
  synchronizer,
  taskPipelineKeys,
} from '../../schema/runtime.js';
import type { critic, trainerSection } from '../../schema/trainer.js';

/**
 * `both`: explore and train; `train`: train on stored experiences; `bench`: evaluate checkpoints.
 */
export type Mode = 'both' | 'train' | 'bench' | 'serve';

/** Explorers and trainer as processes of their own: `mode: explore` and `mode: train`. */
export type LoopPart = 'explore' | 'train';

/** One run: where it lives, and its stages in order. */
export interface ResolvedConfig {
  readonly project: string;
  /** May be empty. */
  readonly group: string;
  /** With the timestamp suffix, if the run got one. */
  readonly name: string;
  /** Absolute. */
  readonly checkpointRootDir: string;
  /** Absolute: `<checkpointRootDir>/<project>/<group>/<name>`. The stages lie inside it. */
  readonly jobDirectory: string;
  /** The run directory has content, and this run continues it. */
  readonly resume: boolean;
  /** Root of all randomness, 32 bit unsigned. */
  readonly seed: number;
  /** npm packages, directories or modules whose definitions the run may name. */
  readonly plugins: readonly string[];
  /** A file without `stages` has one stage, whose `stageName` is undefined. */
  readonly stages: readonly [StageConfig, ...StageConfig[]];
}

/**
 * Everything that one stage needs; nothing refers to another stage except
 * `model.fromPreviousStage`.
 */
export interface StageConfig {
  readonly stageName: string | undefined;
  /** Place in the run, from 0. */
  readonly stageIndex: number;
  /** `both` also where this process is one side of it; see `part`. */
  readonly mode: Mode;
  /** The side of mode both that this process is; undefined: all of it, or another mode. */
  readonly part: LoopPart | undefined;
  /**
   * Shared by the processes of a run, where they are apart: a file for SQLite, or the address of a
   * PostgreSQL database, which may hold a password: never log it.
   */
  readonly runStore: string;
  readonly project: string;
  readonly group: string;
  /** Run name, with `/<stageName>` appended for a named stage. */
  readonly name: string;
  readonly seed: number;
  /**
   * Name of the engine that trains and samples, in the table that the file was read with:
   * `trainer.trainer_type`, or `explorer.rollout_model.engine_type`, else the first of the table.
   */
  readonly engine: string;
  /** Samples in its place; undefined: the engine does both. */
  readonly sampler: SamplerConfig | undefined;
  /** Answers in place of the trained model; undefined: none. */
  readonly external: ExternalModelConfig | undefined;
  /** Absolute: the run's directory, with `/<stageName>` appended for a named stage. */
  readonly jobDirectory: string;
  readonly algorithm: AlgorithmConfig;
  readonly model: ModelConfig;
  readonly buffer: BufferConfig;
  readonly explorer: ExplorerConfig;
  readonly trainer: TrainerConfig;
  readonly dataProcessor: DataProcessorConfig;
  readonly synchronizer: SynchronizerConfig;
  readonly cluster: ClusterConfig;
  readonly monitor: MonitorConfig;
  readonly log: LogConfig;
}

/** A model behind an OpenAI-compatible API. */
export interface ExternalModelConfig {
  /** Its name there. */
  readonly name: string;
  /** Undefined: the environment variable `baseUrlEnv` has it. */
  readonly baseUrl: string | undefined;
  readonly baseUrlEnv: string;
  /** Undefined: the environment variable `apiKeyEnv` has it. */
  readonly apiKey: string | undefined;
  readonly apiKeyEnv: string;
}

/** Programs that sample beside the engine that trains. */
export interface SamplerConfig {
  readonly name: (typeof samplerNames)[number];
  readonly servers: readonly ServerAddress[];
  /** Mean difference that is allowed between its log-probabilities of a text and those of the engine, in nats. */
  readonly tolerance: number;
  /** How its servers are to be started. */
  readonly start: SamplerStart;
}

export interface SamplerStart {
  readonly dtype: string;
  readonly tensorParallelSize: number;
  readonly gpuMemoryUtilization: number;
  readonly enforceEager: boolean;
}

/**
 * A row of one of the tables of `AlgorithmTables`, with all its arguments; names of arguments in
 * camelCase, those without a value left out.
 */
export interface PartConfig {
  readonly name: string;
  readonly args: Readonly<Record<string, unknown>>;
}

/** `createAlgorithm` takes it as it is. */
export interface AlgorithmConfig extends Resolved<ReturnType<typeof algorithmSection>> {
  /** The kind of rows it is trained on. */
  readonly schema: DataSchema;
  /** Runs per task: the group size. 1 if nothing is explored. */
  readonly repeatTimes: number;
  /** The algorithm learns from runs of the model, not from stored answers. */
  readonly needsRollouts: boolean;
  readonly optimizer: OptimizerConfig;
  readonly sampleStrategy: PartConfig;
  /** Undefined if there are no rewards. */
  readonly advantageFn: PartConfig | undefined;
  readonly policyLossFn: PartConfig;
  readonly klLossFn: PartConfig;
  readonly klPenaltyFn: PartConfig;
  readonly entropyLossFn: PartConfig;
  /** Undefined: none. */
  readonly rolloutCorrection: RolloutCorrection | undefined;
  readonly lossAggMode: LossAggMode;
  /**
   * Divisor of sums over tokens, if `lossAggMode` uses them. Undefined: the mode's default.
   */
  readonly lossAggNorm: number | undefined;
  /** Needs of the combination of these parts. */
  readonly needs: AlgorithmNeeds;
}

export interface OptimizerConfig extends Resolved<typeof optimizer> {
  /** Largest global gradient norm; 0 = no clipping. */
  readonly clipGradNorm: number;
}

export interface ModelConfig extends Resolved<typeof model> {
  /** Absolute folder or GGUF file when `isLocal`, else a Hugging Face hub id. */
  readonly modelPath: string;
  readonly isLocal: boolean;
  /** The hub id that the file names, if it does. */
  readonly hubId: string | undefined;
  /**
   * Start from the last checkpoint of the stage before; `modelPath` then only names the model the
   * run began with.
   */
  readonly fromPreviousStage: boolean;
  /** Jinja text that replaces the one of the model folder. */
  readonly chatTemplate: string | undefined;
  /** Tokens of prompt and response together. */
  readonly maxModelLen: number;
  readonly maxPromptTokens: number;
  readonly maxResponseTokens: number;
  /**
   * Folder that the critic starts from, absolute, or a hub id; undefined: the model itself. Read where the
   * algorithm needs a critic.
   */
  readonly criticModelPath: string | undefined;
  /** Train an adapter instead of the weights themselves. */
  readonly lora: LoraConfig | undefined;
}

/** A low-rank adapter: W + alpha / rank * B A for each adapted weight W. */
export type LoraConfig = NewAdapter | StoredAdapter;

/** It starts without effect. */
export interface NewAdapter {
  readonly name: string | undefined;
  readonly path: undefined;
  readonly rank: number;
  readonly alpha: number;
  /** Every linear layer but the output, or endings of module names, as `q_proj`. */
  readonly targetModules: 'all-linear' | readonly string[];
}

/** It starts with the weights of a folder, which also has its rank, scale and layers. */
export interface StoredAdapter {
  readonly name: string | undefined;
  /** Absolute folder, in the layout of PEFT. */
  readonly path: string;
}

export interface BufferConfig extends Resolved<typeof buffer> {
  /** Rows of a train step, experts included. */
  readonly trainBatchSize: number;
  readonly trainBatch: TrainBatchConfig;
  readonly explorerInput: {
    /** Empty when nothing is explored. */
    readonly tasksets: readonly TasksetConfig[];
    readonly evalTasksets: readonly TasksetConfig[];
  };
  readonly trainerInput: {
    readonly experienceBuffer: ExperienceBufferConfig;
    /**
     * Expert rows that the sample strategy `mix` adds to a batch; undefined if the model samples
     * every row.
     */
    readonly experts: ExpertsConfig | undefined;
  };
}

export interface TrainBatchConfig {
  /** Members of a train step, experts included. */
  readonly size: number;
  /** Members that are not of experts. */
  readonly own: number;
  readonly unit: BatchUnit;
  /**
   * Members that an explore step makes if every run succeeds; undefined if that depends on the number
   * of calls, or if nothing is explored.
   */
  readonly perExploreStep: number | undefined;
}

/** A buffer to imitate: rows of a data set, or experiences that an earlier run has stored. */
export interface ExpertsConfig {
  /** Rows of a train batch: at least 1, and fewer than `trainBatchSize`. */
  readonly count: number;
  readonly buffer: SupervisedBufferConfig | (ExperienceStoreConfig & { readonly path: string });
}

/** Rows to read, and how. */
export interface DatasetConfig extends Omit<Resolved<typeof rowsKeys>, 'format'> {
  readonly name: string;
  /** Absolute file or folder when `isLocal`, else a Hugging Face hub id. */
  readonly path: string;
  readonly isLocal: boolean;
  readonly format: DataFormat;
}

/** How rows are read: for tasks the keys, for supervised data also the layout. */
export interface DataFormat extends Resolved<typeof rowFormat> {}

/** The order of tasks. */
export interface TaskSelectorConfig extends Resolved<typeof taskSelector> {
  /** Selector args of `difficulty_based`. */
  readonly selectorArgs: Readonly<Record<string, unknown>> | undefined;
}

export interface TasksetConfig
  extends Omit<DatasetConfig, 'dataSelector'>, Omit<Resolved<typeof taskset>, keyof DatasetConfig> {
  readonly dataSelector: TaskSelectorConfig;
  readonly isEval: boolean;
  /** Registered name; undefined when every row names its own (`format.workflowKey`). */
  readonly workflow: string | undefined;
  readonly rewardFn: string | undefined;
  /** Complete: with the model's values if the file sets none. */
  readonly rolloutArgs: Required<RolloutArgs>;
  /** Runs per task. */
  readonly repeatTimes: number;
}

/** Where the trainer reads: experiences of the explorer, or rows of supervised data. */
export type ExperienceBufferConfig = ExperienceStoreConfig | SupervisedBufferConfig;

export interface ExperienceStoreConfig extends Resolved<typeof storeKeys> {
  readonly name: string;
  readonly storageType: 'queue' | 'sql';
  /** `sqlite` survives the process; `memory` does not, and cannot be resumed. */
  readonly storage: 'memory' | 'sqlite';
  /** Absolute database file; undefined for `memory`. */
  readonly path: string | undefined;
  /** @default every experience is trained on once */
  readonly replay?: ReplayConfig;
}

/** Experiences that come first, and when they may be used again. */
export interface ReplayConfig {
  readonly priorityFn: 'linear_decay' | 'decay_limit_randomization';
  readonly priorityFnArgs: Readonly<Record<string, unknown>>;
  /** Undefined: each is used once. */
  readonly reuseCooldownMs: number | undefined;
}

export interface SupervisedBufferConfig extends DatasetConfig {
  readonly storageType: 'file';
}

type OwnExplorerKeys = Resolved<ReturnType<typeof explorerSection>>;

export interface ExplorerConfig extends Omit<
  OwnExplorerKeys,
  keyof ServeConfig | 'dynamicSampling'
> {
  readonly dynamicSampling: OwnExplorerKeys['dynamicSampling'] & { readonly enable: boolean };
  /** Runs in flight at once. */
  readonly concurrency: number;
  /** Environment of the user's workflows. */
  readonly envVars: Readonly<Record<string, string>>;
  readonly rolloutModel: RolloutModelConfig;
  /** In the order of the file; names differ. */
  readonly auxiliaryModels: readonly AuxiliaryModelConfig[];
  /**
   * Explore steps between evaluations, a multiple of the sync interval where weights move;
   * undefined = never.
   */
  readonly evalInterval: number | undefined;
  readonly serve: ServeConfig;
}

/** Where mode `serve` listens, and how often it checks for a newer checkpoint. */
export interface ServeConfig extends Resolved<typeof serveKeys> {}

/**
 * How the model behind the recording endpoint samples and speaks. What its section leaves out is as
 * in {@link ModelConfig}. A parser that is undefined leaves its part in the text.
 */
export interface RolloutModelConfig extends Inherited<
  Resolved<ReturnType<typeof rolloutModelSection>>,
  ModelConfig
> {}

/**
 * A model that workflows may use and that is never trained. What the file leaves out is as for the
 * trained model.
 */
export interface AuxiliaryModelConfig extends Inherited<
  Resolved<ReturnType<typeof auxiliaryModelItem>>,
  ModelConfig
> {
  /** Name by which workflows refer to it. */
  readonly name: string;
  readonly source: AuxiliarySource;
}

/** Where an auxiliary model is. `apiKey` is a secret: never log it. */
export type AuxiliarySource =
  | {
      readonly kind: 'folder';
      /** Absolute. */
      readonly modelPath: string;
      /** Name in the table of engines. */
      readonly engine: string;
    }
  | {
      readonly kind: 'remote';
      /** Ends in `/v1`, or wherever the API begins. */
      readonly baseUrl: string;
      readonly apiKey: string;
      /** Name of the model there. */
      readonly modelPath: string;
    };

export interface TrainerConfig extends Resolved<ReturnType<typeof trainerSection>> {
  readonly critic: CriticConfig;
}

/** How the critic learns; read if the algorithm needs one. */
export interface CriticConfig extends Resolved<typeof critic> {
  /** That of the stage, or, where it has no value head, the first that has one. */
  readonly engine: string;
  readonly optimizer: OptimizerConfig;
  /** The policy is updated from this train step on; the steps before it update the critic only. */
  readonly warmupSteps: number;
}

/** Processing of experiences on their way to the buffer. */
export interface DataProcessorConfig {
  /** Run in order, before advantages. */
  readonly experiencePipeline: { readonly operators: readonly PartConfig[] };
  /** Pipeline that makes the tasks before the run. Undefined: they are as they were read. */
  readonly taskPipeline: TaskPipelineConfig | undefined;
}

export interface TaskPipelineConfig extends Resolved<typeof taskPipelineKeys> {
  readonly operators: readonly PartConfig[];
  /** Where the rows of the one task set come from. Empty: each task set is its own input. */
  readonly inputs: readonly { readonly path: string; readonly isLocal: boolean }[];
}

export interface ClusterConfig extends Resolved<typeof cluster> {}

export interface SynchronizerConfig extends Resolved<typeof synchronizer> {
  readonly explorerSyncInterval: number;
  readonly trainerSyncInterval: number;
}

/** Keyed by the name of the monitor; keys as in the YAML. */
export type MonitorArgs = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

export interface MonitorConfig extends Resolved<typeof monitor> {
  readonly args: MonitorArgs;
  /** Absolute: `<jobDirectory>/monitor`. */
  readonly directory: string;
}

export interface LogConfig extends Resolved<typeof log> {
  /** Absolute: `<jobDirectory>/log`. */
  readonly directory: string;
}
