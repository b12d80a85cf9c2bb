/**
 * Resolved configuration: plain data in camelCase, grouped like the YAML. Most values follow from
 * the schema, which also describes them; this file adds those derived from several keys or from the
 * disk.
 */
import type { DataSchema, LossAggMode } from '@trinity-rft/algorithm';
import type { RolloutCorrection } from '@trinity-rft/algorithm/internal';
import type { AlgorithmNeeds } from '@trinity-rft/core';
import type { Quantization, ServerAddress } from '@trinity-rft/core/engine';
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
 * `both`: explore and train; `train`: on stored experiences; `bench`: evaluate; `serve`: serve and
 * train.
 */
export type Mode = 'both' | 'train' | 'bench' | 'serve';

/** Sides of mode `both` that run as separate processes: `mode: explore` and `mode: train`. */
export type LoopPart = 'explore' | 'train';

/** One run: its folders, and its stages in order. */
export interface ResolvedConfig {
  readonly project: string;
  /** Name of the group of runs; may be empty. */
  readonly group: string;
  /** Name of the run, with the timestamp suffix if it got one. */
  readonly name: string;
  /** Folder of all projects, as an absolute path. */
  readonly checkpointRootDir: string;
  /**
   * Absolute path: `<checkpointRootDir>/<project>/<group>/<name>`. Contains the folders of the
   * stages.
   */
  readonly jobDirectory: string;
  /** True if the run directory has content that this run continues. */
  readonly resume: boolean;
  /** Root of all randomness, 32 bit unsigned. */
  readonly seed: number;
  /** npm packages, directories or modules whose definitions the run may name. */
  readonly plugins: readonly string[];
  /** A file without `stages` has one stage, whose `stageName` is undefined. */
  readonly stages: readonly [StageConfig, ...StageConfig[]];
}

/** Everything that one stage needs; only `model.fromPreviousStage` refers to another stage. */
export interface StageConfig {
  readonly stageName: string | undefined;
  /** Index in the run, from 0. */
  readonly stageIndex: number;
  /** `both` also if the process is only one side of mode `both`; see `part`. */
  readonly mode: Mode;
  /** Explorer or trainer, if the process is one side of mode `both`; else undefined. */
  readonly part: LoopPart | undefined;
  /**
   * Store that the processes of a distributed run share: a file for SQLite, or the address of a
   * PostgreSQL database, which may hold a password: never log it.
   */
  readonly runStore: string;
  readonly project: string;
  readonly group: string;
  /** Run name, with `/<stageName>` appended for a named stage. */
  readonly name: string;
  readonly seed: number;
  /**
   * Engine that trains and samples, by its name in the table: `tinker` if `model.tinker.enable`,
   * else `trainer.trainer_type` or `explorer.rollout_model.engine_type`, else the default engine.
   */
  readonly engine: string;
  /** Program that samples instead of the engine; undefined if the engine also samples. */
  readonly sampler: SamplerConfig | undefined;
  /** Model that answers instead of the trained one; undefined if the trained model answers. */
  readonly external: ExternalModelConfig | undefined;
  /** Absolute path: the run's directory, with `/<stageName>` appended for a named stage. */
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
  /** Name of the model in the API. */
  readonly name: string;
  /** Address of the API; undefined if the environment variable `baseUrlEnv` holds it. */
  readonly baseUrl: string | undefined;
  readonly baseUrlEnv: string;
  /** Key of the API; undefined if the environment variable `apiKeyEnv` holds it. */
  readonly apiKey: string | undefined;
  readonly apiKeyEnv: string;
}

/** Program whose servers sample in place of the engine that trains. */
export interface SamplerConfig {
  readonly name: (typeof samplerNames)[number];
  readonly servers: readonly ServerAddress[];
  /** Allowed mean difference from the engine's log-probabilities of a text, in nats. */
  readonly tolerance: number;
  /** Options for starting the program's servers. */
  readonly start: SamplerStart;
}

export interface SamplerStart {
  readonly dtype: string;
  readonly tensorParallelSize: number;
  readonly gpuMemoryUtilization: number;
  readonly enforceEager: boolean;
}

/**
 * A row of `AlgorithmTables` with its arguments: names in camelCase, without arguments that have no
 * value.
 */
export interface PartConfig {
  readonly name: string;
  readonly args: Readonly<Record<string, unknown>>;
}

/** Input of `createAlgorithm`. */
export interface AlgorithmConfig extends Resolved<ReturnType<typeof algorithmSection>> {
  /** Kind of the rows to train on. */
  readonly schema: DataSchema;
  /** Runs per task: the group size. 1 for supervised data. */
  readonly repeatTimes: number;
  /** True if the algorithm learns from runs of the model instead of stored answers. */
  readonly needsRollouts: boolean;
  readonly optimizer: OptimizerConfig;
  readonly sampleStrategy: PartConfig;
  /** Advantage function; undefined if there are no rewards. */
  readonly advantageFn: PartConfig | undefined;
  readonly policyLossFn: PartConfig;
  readonly klLossFn: PartConfig;
  readonly klPenaltyFn: PartConfig;
  readonly entropyLossFn: PartConfig;
  /** Correction for off-policy rollouts; undefined if there is none. */
  readonly rolloutCorrection: RolloutCorrection | undefined;
  readonly lossAggMode: LossAggMode;
  /** Divisor of sums over tokens, if `lossAggMode` has them; undefined for the mode's default. */
  readonly lossAggNorm: number | undefined;
  /** Combined needs of the algorithm's parts. */
  readonly needs: AlgorithmNeeds;
}

export interface OptimizerConfig extends Resolved<typeof optimizer> {
  /** Maximum global gradient norm; 0 disables clipping. */
  readonly clipGradNorm: number;
}

export interface ModelConfig extends Resolved<typeof model> {
  /** Absolute path of a folder or GGUF file if `isLocal`, else a Hugging Face hub id. */
  readonly modelPath: string;
  readonly isLocal: boolean;
  /** The hub id, if the file names the model by one. */
  readonly hubId: string | undefined;
  /**
   * True to start from the last checkpoint of the stage before; `modelPath` then names the model of
   * the latest stage that names one.
   */
  readonly fromPreviousStage: boolean;
  /** Jinja template that replaces the one of the model folder. */
  readonly chatTemplate: string | undefined;
  /** Maximum number of tokens of prompt and response together. */
  readonly maxModelLen: number;
  readonly maxPromptTokens: number;
  readonly maxResponseTokens: number;
  /**
   * Absolute path or hub id of the model that a critic starts from; undefined for the model itself.
   */
  readonly criticModelPath: string | undefined;
  /** Adapter to train instead of the weights themselves; undefined to train the weights. */
  readonly lora: LoraConfig | undefined;
  readonly base: BaseWeights;
}

/** Kind of the weights with which a stage starts, which lie below its adapter if it has one. */
export interface BaseWeights {
  /** Format of the integers; undefined for floating point numbers. */
  readonly quantization: Quantization | undefined;
  /**
   * Adapter that the stage starts with and continues; undefined if the stage starts without one.
   */
  readonly continued: ContinuedAdapter | undefined;
  /** True if the engine of the stage can quantise. */
  readonly canQuantize: boolean;
}

/** An adapter on quantised weights, with which it cannot be merged. */
export interface ContinuedAdapter {
  readonly quantization: Quantization;
  /** Absolute path or hub id of the model below the adapter. */
  readonly modelPath: string;
  /** Undefined if it is stored in a folder that cannot be read. */
  readonly adapter: AdapterShape | undefined;
}

/** Size and layers of an adapter. */
export interface AdapterShape extends Pick<NewAdapter, 'rank' | 'alpha'> {
  /** Undefined if the folder of the adapter does not list them. */
  readonly targetModules: NewAdapter['targetModules'] | undefined;
}

/** A low-rank adapter: W + alpha / rank * B A for each adapted weight W. */
export type LoraConfig = NewAdapter | StoredAdapter;

/** A new adapter, which has no effect before its first train step. */
export interface NewAdapter {
  readonly name: string | undefined;
  readonly path: undefined;
  readonly rank: number;
  readonly alpha: number;
  /** All linear layers except the output, or endings of module names, such as `q_proj`. */
  readonly targetModules: 'all-linear' | readonly string[];
}

/** An adapter that starts from a folder, which also determines its rank, scale and layers. */
export interface StoredAdapter {
  readonly name: string | undefined;
  /** Absolute path of a folder in the layout of PEFT. */
  readonly path: string;
}

export interface BufferConfig extends Resolved<typeof buffer> {
  /** Number of rows in a train step, experts included. */
  readonly trainBatchSize: number;
  readonly trainBatch: TrainBatchConfig;
  readonly explorerInput: {
    /** Task sets to explore; empty if nothing is explored. */
    readonly tasksets: readonly TasksetConfig[];
    readonly evalTasksets: readonly TasksetConfig[];
  };
  readonly trainerInput: {
    readonly experienceBuffer: ExperienceBufferConfig;
    /**
     * Expert rows that the strategy `mix` adds to a batch; undefined if the model samples every
     * row.
     */
    readonly experts: ExpertsConfig | undefined;
  };
}

export interface TrainBatchConfig {
  /** Size of a train batch in `unit`, experts included. */
  readonly size: number;
  /** Size without the rows of experts. */
  readonly own: number;
  readonly unit: BatchUnit;
  /**
   * Number of `unit` that an explore step makes if every run succeeds; undefined if it depends on
   * the number of calls, or nothing is explored.
   */
  readonly perExploreStep: number | undefined;
}

/** A buffer to imitate: rows of a data set, or experiences that an earlier run has stored. */
export interface ExpertsConfig {
  /** Rows of a train batch that come from experts: at least 1, and fewer than `trainBatchSize`. */
  readonly count: number;
  readonly buffer: SupervisedBufferConfig | (ExperienceStoreConfig & { readonly path: string });
}

/** Rows to read, and their layout. */
export interface DatasetConfig extends Omit<Resolved<typeof rowsKeys>, 'format'> {
  readonly name: string;
  /** Absolute path of a file or folder if `isLocal`, else a Hugging Face hub id. */
  readonly path: string;
  readonly isLocal: boolean;
  readonly format: DataFormat;
}

/** Keys of the columns of a row; for supervised data also the layout. */
export interface DataFormat extends Resolved<typeof rowFormat> {}

/** The order of tasks. */
export interface TaskSelectorConfig extends Resolved<typeof taskSelector> {
  /** Arguments of the selector `difficulty_based`. */
  readonly selectorArgs: Readonly<Record<string, unknown>> | undefined;
}

export interface TasksetConfig
  extends Omit<DatasetConfig, 'dataSelector'>, Omit<Resolved<typeof taskset>, keyof DatasetConfig> {
  readonly dataSelector: TaskSelectorConfig;
  readonly isEval: boolean;
  /** Registered name; undefined if every row names its own (`format.workflowKey`). */
  readonly workflow: string | undefined;
  readonly rewardFn: string | undefined;
  /** Sampling arguments, with the model's values for those that the file does not set. */
  readonly rolloutArgs: Required<RolloutArgs>;
  /** Runs per task. */
  readonly repeatTimes: number;
}

/** The trainer's input: experiences of the explorer, or rows of supervised data. */
export type ExperienceBufferConfig = ExperienceStoreConfig | SupervisedBufferConfig;

export interface ExperienceStoreConfig extends Resolved<typeof storeKeys> {
  readonly name: string;
  readonly storageType: 'queue' | 'sql';
  /** `sqlite` survives the process; `memory` does not, so such a run cannot be resumed. */
  readonly storage: 'memory' | 'sqlite';
  /** Absolute path of the database file; undefined for `memory`. */
  readonly path: string | undefined;
  /** Rules for using experiences again. @default each experience is trained on once */
  readonly replay?: ReplayConfig;
}

/** Order by priority, and the time after which an experience may be reused. */
export interface ReplayConfig {
  readonly priorityFn: 'linear_decay' | 'decay_limit_randomization';
  readonly priorityFnArgs: Readonly<Record<string, unknown>>;
  /** Time until an experience may be used again; undefined if each experience is used once. */
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
  /** Maximum number of runs in flight. */
  readonly concurrency: number;
  /** Environment variables for the user's workflows. */
  readonly envVars: Readonly<Record<string, string>>;
  readonly rolloutModel: RolloutModelConfig;
  /** Auxiliary models in the order of the file; names are unique. */
  readonly auxiliaryModels: readonly AuxiliaryModelConfig[];
  /**
   * Explore steps between evaluations, a multiple of the sync interval if weights are updated;
   * undefined for no evaluations.
   */
  readonly evalInterval: number | undefined;
  readonly serve: ServeConfig;
}

/** Address of mode `serve`, and how often it checks for a newer checkpoint. */
export interface ServeConfig extends Resolved<typeof serveKeys> {}

/**
 * Sampling and chat format of the model behind the recording endpoint, with the values of {@link
 * ModelConfig} where its section gives none. Without a parser, reasoning or tool calls stay in the
 * text.
 */
export interface RolloutModelConfig extends Inherited<
  Resolved<ReturnType<typeof rolloutModelSection>>,
  ModelConfig
> {}

/**
 * A model for workflows that is never trained. Values missing in the file are those of the trained
 * model.
 */
export interface AuxiliaryModelConfig extends Inherited<
  Resolved<ReturnType<typeof auxiliaryModelItem>>,
  ModelConfig
> {
  /** Name by which workflows refer to the model. */
  readonly name: string;
  readonly source: AuxiliarySource;
}

/** Location of an auxiliary model. `apiKey` is a secret: never log it. */
export type AuxiliarySource =
  | {
      readonly kind: 'folder';
      /** Absolute path of the model folder or GGUF file. */
      readonly modelPath: string;
      /** Name of the engine in the table of engines. */
      readonly engine: string;
    }
  | {
      readonly kind: 'remote';
      /** Usually ends in `/v1`; endpoints are appended to it. */
      readonly baseUrl: string;
      readonly apiKey: string;
      /** Name of the model on the server. */
      readonly modelPath: string;
    };

export interface TrainerConfig extends Resolved<ReturnType<typeof trainerSection>> {
  readonly critic: CriticConfig;
}

/** Settings of the critic; only used if the algorithm needs one. */
export interface CriticConfig extends Resolved<typeof critic> {
  /** The engine of the stage if it has a value head, else the first engine with one. */
  readonly engine: string;
  readonly optimizer: OptimizerConfig;
  /** First train step that updates the policy; earlier steps only update the critic. */
  readonly warmupSteps: number;
}

/** Processing of tasks before the run, and of experiences on their way to the buffer. */
export interface DataProcessorConfig {
  /** Operators to run in order, before advantages are computed. */
  readonly experiencePipeline: { readonly operators: readonly PartConfig[] };
  /** Pipeline that makes the tasks before the run. Undefined if tasks are used as they are read. */
  readonly taskPipeline: TaskPipelineConfig | undefined;
}

export interface TaskPipelineConfig extends Resolved<typeof taskPipelineKeys> {
  readonly operators: readonly PartConfig[];
  /** Sources for the rows of the only task set; if empty, each task set is its own input. */
  readonly inputs: readonly { readonly path: string; readonly isLocal: boolean }[];
}

export interface ClusterConfig extends Resolved<typeof cluster> {}

export interface SynchronizerConfig extends Resolved<typeof synchronizer> {
  readonly explorerSyncInterval: number;
  readonly trainerSyncInterval: number;
}

/** Arguments by the name of the monitor; their keys are those of the YAML. */
export type MonitorArgs = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

export interface MonitorConfig extends Resolved<typeof monitor> {
  readonly args: MonitorArgs;
  /** Absolute path: `<jobDirectory>/monitor`. */
  readonly directory: string;
}

export interface LogConfig extends Resolved<typeof log> {
  /** Absolute path: `<jobDirectory>/log`. */
  readonly directory: string;
}
