/** Converts arguments to a configuration tree with Trinity's configuration keys. */
import { isTree } from '@trinity-rft/core/support';
import { AlgorithmConfig, type AlgorithmFields } from './algorithm-config.js';
import { DatasetConfig, type DatasetFields } from './dataset-config.js';
import { assertTrainable, TunerModelConfig, type TunerModelFields } from './model-config.js';

/** Name that Trinity's configurations use for the workflow that calls the user's functions. */
export const adapterWorkflowName = 'agentscope_workflow_adapter_v1';

/**
 * Settings of a training run. Data sets, models and the algorithm may be plain objects; they are
 * validated like the arguments of `DatasetConfig`, `TunerModelConfig` and `AlgorithmConfig`.
 */
export interface TuneSettings {
  /** Data set to train on. @default the task sets of the file */
  readonly trainDataset?: DatasetFields;
  /**
   * Data set to evaluate on. `totalEpochs` and `totalSteps` are ignored.
   * @default the evaluation sets of the file
   */
  readonly evalDataset?: DatasetFields;
  /** Settings of the trained model. @default the model of the file */
  readonly model?: TunerModelFields;
  /**
   * Models that the workflow and the judge can use, keyed by name. They replace models of the file
   * that have the same name.
   * @default the auxiliary models of the file
   */
  readonly auxiliaryModels?: Readonly<Record<string, TunerModelFields>>;
  readonly algorithm?: AlgorithmFields;
  /** Name of the project. @default "AgentScope" */
  readonly projectName?: string;
  /** Name of the experiment. @default "Experiment-" and a timestamp */
  readonly experimentName?: string;
  /** Kind of monitor that records metrics. @default "tensorboard" */
  readonly monitorType?: string;
}

/** Configuration as plain data with snake_case keys. */
export type ConfigTree = Readonly<Record<string, unknown>>;

type Tree = Record<string, unknown>;

/**
 * Returns the default configuration tree for calls without a configuration file.
 * @param timestamp timestamp such as `20260701093000`
 */
export function defaultTree(timestamp: string): ConfigTree {
  return {
    project: 'AgentScope',
    name: `Experiment-${timestamp}`,
    checkpoint_root_dir: './checkpoints',
    algorithm: { algorithm_type: 'multi_step_grpo' },
    buffer: { total_epochs: 1 },
    explorer: { runner_per_model: 16, max_timeout: 3600 },
    synchronizer: {
      sync_style: 'dynamic_by_explorer',
      sync_method: 'memory',
      sync_interval: 1,
      sync_timeout: 7200,
    },
    trainer: { save_interval: 100 },
    monitor: { monitor_type: 'tensorboard' },
  };
}

/**
 * Converts the settings to a tree that can be merged into `file`. Lists in this tree replace lists
 * of the file.
 */
export function overridesOf(settings: TuneSettings, file: ConfigTree): ConfigTree {
  const { evalDataset, auxiliaryModels, projectName, experimentName, monitorType } = settings;
  const algorithm = settings.algorithm && AlgorithmConfig(settings.algorithm);
  const model = settings.model && TunerModelConfig(settings.model);
  const trainDataset = settings.trainDataset && DatasetConfig(settings.trainDataset);
  const { totalEpochs, totalSteps } = settings.trainDataset ?? {};
  const inFile = at(file, 'buffer', 'explorer_input');
  return withoutEmpty({
    mode: file['mode'] === undefined ? 'both' : undefined,
    project: projectName,
    name: experimentName,
    algorithm: algorithm && algorithmSection(algorithm),
    model: model && trainedModelSection(model),
    buffer: {
      batch_size: algorithm?.batchSize,
      total_epochs: totalEpochs,
      // The file's steps would win over the epochs of the arguments.
      total_steps: totalSteps ?? (totalEpochs === undefined ? undefined : null),
      explorer_input: explorerInput(trainDataset, evalDataset, inFile),
    },
    explorer: {
      eval_interval: algorithm?.evalIntervalSteps,
      rollout_model: model && { ...servingSection(model), enable_history: true },
      auxiliary_models:
        auxiliaryModels &&
        auxiliarySection(auxiliaryModels, at(file, 'explorer')['auxiliary_models']),
    },
    trainer: { save_interval: algorithm?.saveIntervalSteps },
    monitor: { monitor_type: monitorType },
  });
}

const algorithmSection = ({ algorithmType, learningRate, groupSize }: AlgorithmConfig): Tree => ({
  algorithm_type: algorithmType,
  repeat_times: groupSize,
  optimizer: { lr: learningRate },
});

function trainedModelSection(model: TunerModelConfig): Tree {
  assertTrainable(model);
  return modelSection(model);
}

const modelSection = (model: TunerModelConfig): Tree => ({
  model_path: model.modelPath,
  max_model_len: model.maxModelLen,
  max_response_tokens: model.maxTokens,
  temperature: model.temperature,
  top_p: model.topP,
  enable_thinking: model.enableThinking,
});

/**
 * Returns the settings of the serving engine, which trained and auxiliary models have in common.
 */
function servingSection(model: TunerModelConfig): Tree {
  return {
    // Omitted if 1, the default of the engines.
    tensor_parallel_size: model.tensorParallelSize === 1 ? undefined : model.tensorParallelSize,
    engine_num: model.inferenceEngineNum === 1 ? undefined : model.inferenceEngineNum,
    enable_openai_api: true,
    enable_auto_tool_choice: model.toolCallParser !== null,
    tool_call_parser: model.toolCallParser,
    reasoning_parser: model.reasoningParser,
  };
}

function auxiliarySection(
  models: Readonly<Record<string, TunerModelFields>>,
  inFile: unknown,
): readonly unknown[] {
  const own = Object.entries(models).map(([name, fields]) => {
    const model = TunerModelConfig(fields);
    const { baseUrl, apiKey } = model;
    return {
      name,
      ...modelSection(model),
      ...servingSection(model),
      base_url: baseUrl,
      api_key: apiKey,
    };
  });
  const names = new Set(own.map(({ name }) => name));
  const kept = treesOf(inFile).filter(({ name }) => !names.has(String(name)));
  return [...kept, ...own];
}

/**
 * Returns the section `buffer.explorer_input`. If the arguments contain a training set, it replaces
 * the file's task sets; if they contain an evaluation set, it is added. Keys that the arguments do
 * not set, such as the format, are taken from the file's first task set. All rows are played by the
 * user's functions.
 */
function explorerInput(
  train: DatasetConfig | undefined,
  evaluation: DatasetFields | undefined,
  inFile: Tree,
): Tree {
  const sets: Tree = { default_workflow_type: adapterWorkflowName, ...ownWorkflow(inFile) };
  if (train) {
    // The list `tasksets` replaces a single task set of the file.
    for (const key of singleKeys) if (inFile[key] !== undefined) sets[key] = null;
    sets['tasksets'] = [trainSection(train, inFile)];
  }
  if (evaluation) {
    const key = inFile['eval_taskset'] === undefined ? 'eval_tasksets' : 'eval_taskset';
    const others = treesOf(sets[key] ?? inFile[key]).filter(({ name }) => name !== evalName);
    sets[key] = [...others, { name: evalName, ...datasetSection(DatasetConfig(evaluation)) }];
  }
  return sets;
}

/**
 * Makes all task sets of the file use the adapter workflow. Returns overrides for those keys of the
 * file whose task sets name a workflow.
 */
function ownWorkflow(inFile: Tree): Tree {
  const namesWorkflow = (set: Tree): boolean => set['default_workflow_type'] !== undefined;
  const changed = [...singleKeys, ...listKeys]
    .filter((key) => treesOf(inFile[key]).some(namesWorkflow))
    .map((key) => {
      const sets = treesOf(inFile[key]).map((set) => ({
        ...set,
        default_workflow_type: adapterWorkflowName,
      }));
      return [key, Array.isArray(inFile[key]) ? sets : sets[0]] as const;
    });
  return Object.fromEntries(changed);
}

function trainSection(train: DatasetConfig, inFile: Tree): Tree {
  const [first] = ['taskset', 'task_set', 'tasksets'].flatMap((key) => treesOf(inFile[key]));
  return {
    name: 'train',
    ...first,
    default_workflow_type:
      first?.['default_workflow_type'] === undefined ? undefined : adapterWorkflowName,
    ...datasetSection(train),
  };
}

const evalName = 'eval_taskset';
const singleKeys = ['taskset', 'task_set'];
const listKeys = ['tasksets', 'eval_taskset', 'eval_tasksets'];

const datasetSection = ({ path, name, split }: DatasetConfig): Tree => ({
  path,
  subset_name: name,
  split,
});

/** Converts a value to a list. A single tree becomes a list with one element. */
const treesOf = (value: unknown): readonly Tree[] =>
  Array.isArray(value) ? (value as readonly Tree[]) : isTree(value) ? [value] : [];

function at(tree: ConfigTree, ...keys: readonly string[]): Tree {
  let current: unknown = tree;
  for (const key of keys) current = isTree(current) ? current[key] : undefined;
  return isTree(current) ? current : {};
}

/** Drops undefined values and empty sections. */
function withoutEmpty(tree: Tree): ConfigTree {
  const kept: Tree = {};
  for (const [key, value] of Object.entries(tree)) {
    const cleaned = Array.isArray(value)
      ? value.map((item: unknown) => (isTree(item) ? withoutEmpty(item) : item))
      : isTree(value)
        ? withoutEmpty(value)
        : value;
    const isEmpty = cleaned === undefined || (isTree(cleaned) && Object.keys(cleaned).length === 0);
    if (!isEmpty) kept[key] = cleaned;
  }
  return kept;
}
