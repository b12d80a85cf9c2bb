/**
 * Types of the resolved configuration, which is plain data in camelCase, grouped like the YAML
 * file. Most types follow from the schema, which also describes the keys. This file adds values
 * that are derived from several keys or from the disk.
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
 * `both`: explores and trains. `train`: trains on stored experiences or supervised data. `bench`:
 * evaluates. `serve`: serves and trains.
 */
export type Mode = 'both' | 'train' | 'bench' | 'serve';

/** Parts of mode `both` that can be separate processes: `mode: explore` and `mode: train`. */
export type LoopPart = 'explore' | 'train';

/** The resolved configuration of one training run: its folders, and its stages in order. */
export interface ResolvedConfig {
  readonly project: string;
  /** Name of the group of training runs; may be empty. */
  readonly group: string;
  /** Name of the training run, including the timestamp suffix if there is one. */
  readonly name: string;
  /** Folder of all projects, as an absolute path. */
  readonly checkpointRootDir: string;
  /**
   * Absolute path: `<checkpointRootDir>/<project>/<group>/<name>`. Contains the folders of the
   * stages.
   */
  readonly jobDirectory: string;
  /** True if the training run's folder already has content, which this training run continues. */
  readonly resume: boolean;
  /**
   * True if starting the same configuration again continues this training run; false if that starts
   * a new one.
   */
  readonly continues: boolean;
  /** Root of all random seeds, a 32-bit unsigned integer. */
  readonly seed: number;
  /** npm packages, directories or modules whose definitions the configuration may name. */
  readonly plugins: readonly string[];
  /** A file without `stages` has one stage, whose `stageName` is undefined. */
  readonly stages: readonly [StageConfig, ...StageConfig[]];
}

/**
 * The resolved configuration of one stage. Only `model.fromPreviousStage` refers to another stage.
 */
export interface StageConfig {
  readonly stageName: string | undefined;
  /** Index of the stage in the training run, from 0. */
  readonly stageIndex: number;
  /**
   * Mode of the stage. It is `both` even if the process executes only one part of this mode (see
   * `part`).
   */
  readonly mode: Mode;
  /**
   * Part of mode `both` that this process executes; undefined if it executes the whole mode, or
   * another mode.
   */
  readonly part: LoopPart | undefined;
  /**
   * Store that the processes of a distributed training run share: an SQLite file, or the URL of a
   * PostgreSQL database. The URL may contain a password, so never log it.
   */
  readonly runStore: string;
  readonly project: string;
  readonly group: string;
  /** Name of the training run, with `/<stageName>` appended for a named stage. */
  readonly name: string;
  readonly seed: number;
  /**
   * Name of the engine that trains and samples, as in the table of engines. This is `tinker` if
   * `model.tinker.enable` is true. Otherwise it is `trainer.trainer_type` or
   * `explorer.rollout_model.engine_type`, or the default engine if neither is set.
   */
  readonly engine: string;
  /** Program that samples instead of the engine; undefined if the engine also samples. */
  readonly sampler: SamplerConfig | undefined;
  /**
   * External model that generates responses instead of the trained model; undefined if there is
   * none.
   */
  readonly external: ExternalModelConfig | undefined;
  /** Absolute path of the training run's folder, with `/<stageName>` appended for a named stage. */
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
  /** Base URL of the API; undefined if the environment variable `baseUrlEnv` holds the URL. */
  readonly baseUrl: string | undefined;
  readonly baseUrlEnv: string;
  /** API key; undefined if the environment variable `apiKeyEnv` holds the key. */
  readonly apiKey: string | undefined;
  readonly apiKeyEnv: string;
}

/** A program whose servers sample instead of the engine that trains. */
export interface SamplerConfig {
  readonly name: (typeof samplerNames)[number];
  readonly servers: readonly ServerAddress[];
  /**
   * Maximum mean absolute difference per token, in nats, between the log-probabilities that the
   * servers and the engine compute for the same sequence. A larger difference means that the
   * servers do not have the engine's weights.
   */
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
 * The name of an entry in `AlgorithmTables`, and its arguments. Names of arguments are in
 * camelCase. Arguments without a value are absent.
 */
export interface PartConfig {
  readonly name: string;
  readonly args: Readonly<Record<string, unknown>>;
}

/** The resolved algorithm, from which `createAlgorithm` creates an instance. */
export interface AlgorithmConfig extends Resolved<ReturnType<typeof algorithmSection>> {
  /** Kind of the rows to train on. */
  readonly schema: DataSchema;
  /** Number of rollouts per task: the group size. 1 for supervised data. */
  readonly repeatTimes: number;
  /** True if the algorithm learns from rollouts instead of supervised data. */
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
  /**
   * Divisor of sums over tokens, if `lossAggMode` has such sums; undefined for the default of the
   * mode.
   */
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
  /** Hub id of the model; undefined if the file gives a path. */
  readonly hubId: string | undefined;
  /**
   * True to start from the last checkpoint of the last stage before that trains. `modelPath` then
   * names the model which that stage started from.
   */
  readonly fromPreviousStage: boolean;
  /** Jinja template that replaces the chat template of the model folder. */
  readonly chatTemplate: string | undefined;
  /** Maximum number of tokens of prompt and response together. */
  readonly maxModelLen: number;
  readonly maxPromptTokens: number;
  readonly maxResponseTokens: number;
  /**
   * Absolute path or hub id of the model that a critic starts from; undefined for the trained model
   * itself.
   */
  readonly criticModelPath: string | undefined;
  /** Adapter to train instead of the model's weights; undefined to train all weights. */
  readonly lora: LoraConfig | undefined;
  readonly base: BaseWeights;
}

/**
 * Weights that a stage starts with. If the stage has an adapter, these are the adapter's base
 * weights.
 */
export interface BaseWeights {
  /** Format of quantised weights; undefined for floating-point weights. */
  readonly quantization: Quantization | undefined;
  /**
   * Adapter that the stage starts with and continues; undefined if the stage starts without an
   * adapter.
   */
  readonly continued: ContinuedAdapter | undefined;
  /** True if the engine of the stage can quantise. */
  readonly canQuantize: boolean;
}

/** An adapter that cannot be merged, because its base weights are quantised. */
export interface ContinuedAdapter {
  readonly quantization: Quantization;
  /** Absolute path or hub id of the model below the adapter. */
  readonly modelPath: string;
  /** Size and layers of the adapter; undefined if the folder of a stored adapter cannot be read. */
  readonly adapter: AdapterShape | undefined;
}

/** Size and layers of an adapter. */
export interface AdapterShape extends Pick<NewAdapter, 'rank' | 'alpha'> {
  /** Layers that have adapters; undefined if the folder of the adapter does not list its layers. */
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
  /**
   * Modules with adapters: all linear layers except the output layer, or the last parts of module
   * names, such as `q_proj`.
   */
  readonly targetModules: 'all-linear' | readonly string[];
  /**
   * Modules that `all-linear` excludes, as long as the model is not on this disk, so that its
   * layers are not known.
   * @default none
   */
  readonly excludeModules?: readonly string[];
}

/** An adapter that starts from a folder, which also determines its rank, scale and layers. */
export interface StoredAdapter {
  readonly name: string | undefined;
  /** Absolute path of a folder in the layout of PEFT. */
  readonly path: string;
}

export interface BufferConfig extends Resolved<typeof buffer> {
  /** Number of rows in a train step, including expert rows. */
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
  /** Size of a train batch in `unit`, including expert rows. */
  readonly size: number;
  /** Size of a train batch in `unit`, excluding expert rows. */
  readonly own: number;
  readonly unit: BatchUnit;
  /**
   * Number of units (see `unit`) that an explore step yields if every rollout succeeds. Undefined
   * if it depends on the number of model calls, or if nothing is explored.
   */
  readonly perExploreStep: number | undefined;
  /**
   * Number of these units that are trained on, if the advantage function keeps one rollout of each
   * task.
   * @default `perExploreStep`
   */
  readonly keptPerExploreStep?: number;
  /**
   * True with dynamic sampling: a batch may end within an explore step, and the next batch takes
   * the rest.
   * @default false: a batch ends with an explore step that it does not fill
   */
  readonly takesRest?: boolean;
}

/**
 * Demonstrations to imitate: rows of a data set, or experiences that an earlier training run has
 * stored.
 */
export interface ExpertsConfig {
  /** Number of expert rows in a train batch, at least 1 and less than `trainBatchSize`. */
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

/** Names of the columns of a row; for supervised data also the layout. */
export interface DataFormat extends Resolved<typeof rowFormat> {}

/** Order in which tasks are drawn. */
export interface TaskSelectorConfig extends Resolved<typeof taskSelector> {
  /** Arguments of the selector `difficulty_based`; undefined for other selectors. */
  readonly selectorArgs: Readonly<Record<string, unknown>> | undefined;
}

export interface TasksetConfig
  extends Omit<DatasetConfig, 'dataSelector'>, Omit<Resolved<typeof taskset>, keyof DatasetConfig> {
  readonly dataSelector: TaskSelectorConfig;
  readonly isEval: boolean;
  /**
   * Registered name of the workflow; undefined if every row names a workflow
   * (`format.workflowKey`).
   */
  readonly workflow: string | undefined;
  readonly rewardFn: string | undefined;
  /** True if the task set itself names `rewardFn`; false if it is the default of all task sets. */
  readonly namesRewardFn: boolean;
  /** Sampling arguments, with the model's values for arguments that the file does not set. */
  readonly rolloutArgs: Required<RolloutArgs>;
  /** Number of rollouts per task. */
  readonly repeatTimes: number;
}

/** The trainer's input: experiences of the explorer, or rows of supervised data. */
export type ExperienceBufferConfig = ExperienceStoreConfig | SupervisedBufferConfig;

export interface ExperienceStoreConfig extends Resolved<typeof storeKeys> {
  readonly name: string;
  readonly storageType: 'queue' | 'sql';
  /**
   * With `sqlite`, experiences survive the end of the process. With `memory`, they do not, so the
   * training run cannot be resumed.
   */
  readonly storage: 'memory' | 'sqlite';
  /** Absolute path of the database file; undefined for `memory`. */
  readonly path: string | undefined;
  /** Rules for training on experiences repeatedly. @default each experience is used once */
  readonly replay?: ReplayConfig;
}

/** Priorities of experiences, and the time after which an experience may be used again. */
export interface ReplayConfig {
  readonly priorityFn: 'linear_decay' | 'decay_limit_randomization';
  readonly priorityFnArgs: Readonly<Record<string, unknown>>;
  /**
   * Time in milliseconds until an experience may be used again; undefined if each experience is
   * used once.
   */
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
  /** Maximum number of rollouts in flight. */
  readonly concurrency: number;
  /** Environment variables for the user's workflows. */
  readonly envVars: Readonly<Record<string, string>>;
  readonly rolloutModel: RolloutModelConfig;
  /** Auxiliary models in the order of the file. Their names are unique. */
  readonly auxiliaryModels: readonly AuxiliaryModelConfig[];
  /**
   * Number of explore steps between evaluations; undefined if there are no evaluations. In the sync
   * styles `fixed` and `explorer_driven`, a multiple of the explorer's sync interval.
   */
  readonly evalInterval: number | undefined;
  readonly serve: ServeConfig;
}

/** Address of mode `serve`, and the interval at which the server checks for a newer checkpoint. */
export interface ServeConfig extends Resolved<typeof serveKeys> {}

/**
 * Sampling settings and chat format of the model behind the recording endpoint. Values that
 * `explorer.rollout_model` does not set are those of {@link ModelConfig}. Without a reasoning or
 * tool-call parser, reasoning and tool calls remain in the content of responses.
 */
export interface RolloutModelConfig extends Inherited<
  Resolved<ReturnType<typeof rolloutModelSection>>,
  ModelConfig
> {}

/**
 * A model for workflows that is never trained. Values that the file does not set are those of the
 * trained model.
 */
export interface AuxiliaryModelConfig extends Inherited<
  Resolved<ReturnType<typeof auxiliaryModelItem>>,
  ModelConfig
> {
  /** Name that workflows use for the model. */
  readonly name: string;
  readonly source: AuxiliarySource;
}

/** Location of an auxiliary model. `apiKey` is a secret, so never log it. */
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
      /**
       * Base URL of the API, which usually ends in `/v1`. Paths of endpoints are appended to it.
       */
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
  /**
   * Name of the engine: the engine of the stage if it has a value head, otherwise the first engine
   * with a value head.
   */
  readonly engine: string;
  readonly optimizer: OptimizerConfig;
  /** First train step that updates the policy; earlier steps only update the critic. */
  readonly warmupSteps: number;
}

/**
 * Processing of tasks before the training run, and of experiences before they are stored in the
 * buffer.
 */
export interface DataProcessorConfig {
  /** Operators that are applied in order, before advantages are computed. */
  readonly experiencePipeline: { readonly operators: readonly PartConfig[] };
  /**
   * Pipeline that prepares the tasks before the training run. Undefined if tasks are used
   * unchanged.
   */
  readonly taskPipeline: TaskPipelineConfig | undefined;
}

export interface TaskPipelineConfig extends Resolved<typeof taskPipelineKeys> {
  readonly operators: readonly PartConfig[];
  /**
   * Files whose rows the pipeline reads if there is one task set. If empty, the pipeline reads the
   * rows of each task set.
   */
  readonly inputs: readonly { readonly path: string; readonly isLocal: boolean }[];
}

export interface ClusterConfig extends Resolved<typeof cluster> {}

export interface SynchronizerConfig extends Resolved<typeof synchronizer> {
  readonly explorerSyncInterval: number;
  readonly trainerSyncInterval: number;
}

/** Arguments by the name of the monitor, with the keys of the YAML file. */
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
