/**
 * What a configuration means once everything is filled in: plain data, camelCase, grouped as the
 * YAML is.
 */
import type { AlgorithmNeeds, FormatArgs, LogLevel, RolloutArgs } from '@trinity-rft/core';
import type { DataSchema, LossAggMode } from '@trinity-rft/algorithm';

/**
 * `both`: explore and train; `train`: train on stored experiences; `bench`: evaluate checkpoints.
 */
export type Mode = 'both' | 'train' | 'bench' | 'serve';

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
  readonly mode: Mode;
  readonly project: string;
  readonly group: string;
  /** Run name, with `/<stageName>` appended for a named stage. */
  readonly name: string;
  readonly seed: number;
  /** Absolute: the run's directory, with `/<stageName>` appended for a named stage. */
  readonly jobDirectory: string;
  readonly algorithm: AlgorithmConfig;
  readonly model: ModelConfig;
  readonly buffer: BufferConfig;
  readonly explorer: ExplorerConfig;
  readonly trainer: TrainerConfig;
  readonly dataProcessor: DataProcessorConfig;
  readonly synchronizer: SynchronizerConfig;
  readonly monitor: MonitorConfig;
  readonly log: LogConfig;
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
export interface AlgorithmConfig {
  readonly algorithmType: string;
  /** What it is trained on. */
  readonly schema: DataSchema;
  /** Runs per task: the group size. 1 where nothing is explored. */
  readonly repeatTimes: number;
  /** The algorithm learns from runs of the model, not from stored answers. */
  readonly needsRollouts: boolean;
  readonly optimizer: OptimizerConfig;
  readonly sampleStrategy: PartConfig;
  /** Undefined where there are no rewards. */
  readonly advantageFn: PartConfig | undefined;
  readonly policyLossFn: PartConfig;
  readonly klLossFn: PartConfig;
  readonly klPenaltyFn: PartConfig;
  readonly entropyLossFn: PartConfig;
  readonly lossAggMode: LossAggMode;
  /**
   * What sums over tokens are divided by, where `lossAggMode` has them; undefined: what the mode
   * says.
   */
  readonly lossAggNorm: number | undefined;
  /** What these parts need together. */
  readonly needs: AlgorithmNeeds;
}

export interface OptimizerConfig {
  readonly lr: number;
  /** In optimizer steps. Undefined: `lrWarmupStepsRatio` decides. */
  readonly lrWarmupSteps: number | undefined;
  /** Share of the total optimizer steps. */
  readonly lrWarmupStepsRatio: number;
  /** The learning rate never falls below `lr * minLrRatio`. */
  readonly minLrRatio: number;
  readonly lrSchedulerType: 'constant' | 'cosine';
  readonly betas: readonly [number, number];
  readonly weightDecay: number;
  /** Largest global gradient norm; 0 = no clipping. */
  readonly clipGradNorm: number;
}

export interface ModelConfig {
  /** Absolute folder when `isLocal`, else a Hugging Face hub id. */
  readonly modelPath: string;
  readonly isLocal: boolean;
  /**
   * Start from the last checkpoint of the stage before; `modelPath` then only names the model the
   * run began with.
   */
  readonly fromPreviousStage: boolean;
  /** Jinja text that replaces the one of the model folder. */
  readonly chatTemplate: string | undefined;
  readonly temperature: number;
  readonly topP: number;
  /** -1 = all. */
  readonly topK: number;
  /** Alternatives reported per sampled token. */
  readonly logprobs: number;
  /** Tokens of prompt and response together. */
  readonly maxModelLen: number;
  readonly maxPromptTokens: number;
  readonly maxResponseTokens: number;
  readonly minResponseTokens: number;
  /** Passed to the chat template when set. */
  readonly enableThinking: boolean | undefined;
  /** Threads of the engine. Undefined: the engine decides. */
  readonly threads: number | undefined;
  /**
   * Memory that one forward and backward pass may use for activations, in MiB. Undefined: the
   * engine decides.
   */
  readonly memoryBudgetMb: number | undefined;
  /**
   * Folder that the critic starts from, absolute; undefined: the model itself. Read where the
   * algorithm needs a critic.
   */
  readonly criticModelPath: string | undefined;
  /** Train an adapter instead of the weights themselves. */
  readonly lora: LoraConfig | undefined;
}

/** A low-rank adapter: W + alpha / rank * B A for each adapted weight W. */
export type LoraConfig = NewAdapter | StoredAdapter;

/** It begins without effect. */
export interface NewAdapter {
  readonly name: string | undefined;
  readonly path: undefined;
  readonly rank: number;
  readonly alpha: number;
  /** Every linear layer but the output, or endings of module names, as `q_proj`. */
  readonly targetModules: 'all-linear' | readonly string[];
}

/** It begins as a folder has it, which also says its rank, scale and layers. */
export interface StoredAdapter {
  readonly name: string | undefined;
  /** Absolute folder, in the layout of PEFT. */
  readonly path: string;
}

export interface BufferConfig {
  /** Tasks per explore step. */
  readonly batchSize: number;
  /** Experiences per train step. */
  readonly trainBatchSize: number;
  readonly totalEpochs: number;
  /** Explore steps (mode `both`) or train steps of supervised data; overrides `totalEpochs`. */
  readonly totalSteps: number | undefined;
  readonly explorerInput: {
    /** Empty when nothing is explored. */
    readonly tasksets: readonly TasksetConfig[];
    readonly evalTasksets: readonly TasksetConfig[];
  };
  readonly trainerInput: {
    readonly experienceBuffer: ExperienceBufferConfig;
    /**
     * What the sample strategy `mix` puts beside experiences of the model; undefined where every
     * row is the model's.
     */
    readonly experts: ExpertsConfig | undefined;
  };
}

/** A buffer to imitate: rows of a data set, or experiences that an earlier run has stored. */
export interface ExpertsConfig {
  /** Rows of a train batch: at least 1, and fewer than `trainBatchSize`. */
  readonly count: number;
  readonly buffer: SupervisedBufferConfig | (ExperienceStoreConfig & { readonly path: string });
}

export interface DatasetConfig {
  readonly name: string;
  /** Absolute file or folder when `isLocal`, else a Hugging Face hub id. */
  readonly path: string;
  readonly isLocal: boolean;
  readonly subsetName: string | undefined;
  readonly split: string;
  readonly format: DataFormat;
  readonly dataSelector: DataSelectorConfig;
}

/** How rows are read: for tasks the keys, for supervised data also the layout. */
export interface DataFormat extends FormatArgs {
  /** Pairs: columns of the better and of the worse answer. */
  readonly chosenKey: string;
  readonly rejectedKey: string;
  readonly promptType: 'messages' | 'plaintext';
  /** Train on every assistant turn of a conversation, not only the last. */
  readonly enableConcatenatedMultiTurn: boolean;
  readonly chatTemplate: string | undefined;
  readonly enableThinking: boolean | undefined;
}

export interface TasksetConfig extends DatasetConfig {
  readonly isEval: boolean;
  /** Registered name; undefined when every row names its own (`format.workflowKey`). */
  readonly workflow: string | undefined;
  readonly rewardFn: string | undefined;
  /** Complete: the model's values where the YAML says nothing. */
  readonly rolloutArgs: Required<RolloutArgs>;
  readonly workflowArgs: Readonly<Record<string, unknown>>;
  readonly rewardFnArgs: Readonly<Record<string, unknown>>;
  /** Runs per task. */
  readonly repeatTimes: number;
}

export interface DataSelectorConfig {
  readonly selectorType: 'sequential' | 'shuffle' | 'random';
  /** Undefined: derived from the run's seed. */
  readonly seed: number | undefined;
}

/** Where the trainer reads: experiences of the explorer, or rows of supervised data. */
export type ExperienceBufferConfig = ExperienceStoreConfig | SupervisedBufferConfig;

export interface ExperienceStoreConfig {
  readonly name: string;
  readonly storageType: 'queue' | 'sql';
  /** `sqlite` survives the process; `memory` does not, and cannot be resumed. */
  readonly storage: 'memory' | 'sqlite';
  /** Absolute database file; undefined for `memory`. */
  readonly path: string | undefined;
  /** Explore steps that may wait for the trainer. */
  readonly capacity: number;
  /** How long the trainer waits for a batch before it reports what it waits for. */
  readonly maxReadTimeoutMs: number;
}

export interface SupervisedBufferConfig extends DatasetConfig {
  readonly storageType: 'file';
}

export interface ExplorerConfig {
  readonly name: string;
  /** Runs in flight at once. */
  readonly concurrency: number;
  /** Of one attempt of one run. */
  readonly maxTimeoutMs: number;
  /** Further attempts of a failed run. */
  readonly maxRetryTimes: number;
  /**
   * Of a run whose agent failed after it had called the model; undefined: such runs are not trained
   * on.
   */
  readonly failureReward: number | undefined;
  readonly experienceShape: 'step' | 'trajectory';
  /** Whether reasoning that the agent left out of earlier answers is put back. */
  readonly reasoningHistory: 'as-sent' | 'restore';
  /** Answers are kept to the formats and forced calls that requests ask for. */
  readonly constrainedDecoding: boolean;
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
  readonly evalOnStartup: boolean;
  readonly benchOnLatestCheckpoint: boolean;
  readonly serve: ServeConfig;
}

/** Where mode `serve` listens. */
export interface ServeConfig {
  readonly host: string;
  /** 0 = any that is free. */
  readonly port: number;
  /** Between two looks for a newer checkpoint, where another process trains. */
  readonly checkIntervalMs: number;
}

/**
 * How the model behind the recording endpoint samples and speaks. Lengths and sampling defaults are
 * those of {@link ModelConfig}.
 */
export interface RolloutModelConfig {
  /** What clients see as the model's name; undefined: the model path. */
  readonly name: string | undefined;
  readonly temperature: number;
  readonly topP: number;
  readonly topK: number;
  readonly logprobs: number;
  readonly maxModelLen: number;
  readonly maxPromptTokens: number;
  readonly maxResponseTokens: number;
  readonly minResponseTokens: number;
  readonly chatTemplate: string | undefined;
  readonly enableThinking: boolean | undefined;
  /** Undefined: tool calls are left in the text. */
  readonly toolCallParser: 'hermes' | undefined;
  /** Undefined: reasoning is left in the text. */
  readonly reasoningParser: 'deepseek_r1' | 'qwen3' | undefined;
}

/**
 * A model that workflows may use and that is never trained. What the file leaves out is as for the
 * trained model.
 */
export interface AuxiliaryModelConfig extends Omit<RolloutModelConfig, 'name'> {
  /** What workflows know it by. */
  readonly name: string;
  readonly source: AuxiliarySource;
}

/** Where an auxiliary model is. `apiKey` is a secret: never log it. */
export type AuxiliarySource =
  | { readonly kind: 'folder'; /** Absolute. */ readonly modelPath: string }
  | {
      readonly kind: 'remote';
      /** Ends in `/v1`, or wherever the API begins. */
      readonly baseUrl: string;
      readonly apiKey: string;
      /** Name of the model there. */
      readonly modelPath: string;
    };

export interface TrainerConfig {
  readonly name: string;
  /** Train steps between checkpoints; undefined = only at the end. */
  readonly saveInterval: number | undefined;
  /** Train steps; undefined = until the data ends. */
  readonly totalSteps: number | undefined;
  /** Undefined = all. */
  readonly maxCheckpointsToKeep: number | undefined;
  /** Log the best and the worst rollout of each batch. */
  readonly enablePreview: boolean;
  readonly critic: CriticConfig;
}

/** How the critic learns; read where the algorithm needs one. */
export interface CriticConfig {
  readonly optimizer: OptimizerConfig;
  /** Train steps in which only the critic learns. */
  readonly warmupSteps: number;
  /** New values count as at most this far from the old ones; at least 0. */
  readonly cliprangeValue: number;
}

/** What happens to experiences on their way to the buffer. */
export interface DataProcessorConfig {
  /** Run in order, before advantages. */
  readonly experiencePipeline: { readonly operators: readonly PartConfig[] };
}

export interface SynchronizerConfig {
  readonly syncMethod: 'memory' | 'checkpoint';
  readonly syncStyle: 'fixed' | 'explorer_driven';
  /** Explore steps between weight updates. */
  readonly syncInterval: number;
  /** Explore steps before the first boundary. */
  readonly syncOffset: number;
  readonly syncTimeoutMs: number;
}

export interface MonitorConfig {
  /** Besides the console and `metrics.jsonl`, which are always written. */
  readonly sinks: readonly 'tensorboard'[];
  /** Absolute: `<jobDirectory>/monitor`. */
  readonly directory: string;
  /** Evaluation also reports mean, max, min and std over tasks. */
  readonly detailedStats: boolean;
}

export interface LogConfig {
  readonly level: LogLevel;
  /** Absolute: `<jobDirectory>/log`. */
  readonly directory: string;
}
