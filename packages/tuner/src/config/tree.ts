/** From arguments to the tree of a configuration, with Trinity's keys. */
import { AlgorithmConfig, type AlgorithmFields } from './algorithm-config.js';
import { DatasetConfig, type DatasetFields } from './dataset-config.js';
import { assertTrainable, TunerModelConfig, type TunerModelFields } from './model-config.js';

/** The workflow that calls the user's functions, as Trinity's configurations name it. */
export const adapterWorkflowName = 'agentscope_workflow_adapter_v1';

/** What `tune` can be told about the run; plain objects are checked as their constructors would. */
export interface TuneSettings {
  /** Rows to learn from. @default those of the file */
  readonly trainDataset?: DatasetFields | undefined;
  /** Rows to evaluate on; `totalEpochs` and `totalSteps` mean nothing there. */
  readonly evalDataset?: DatasetFields | undefined;
  /** The model that is trained. @default that of the file */
  readonly model?: TunerModelFields | undefined;
  /**
   * Models for workflow and judge, by name; never trained. They replace those of the file with the
   * same name.
   */
  readonly auxiliaryModels?: Readonly<Record<string, TunerModelFields>> | undefined;
  readonly algorithm?: AlgorithmFields | undefined;
  /** @default "AgentScope" */
  readonly projectName?: string | undefined;
  /** @default "Experiment-" and the time, to seconds */
  readonly experimentName?: string | undefined;
  /** @default "tensorboard" */
  readonly monitorType?: string | undefined;
}

/** Plain data, keys in snake case. */
export type ConfigTree = Readonly<Record<string, unknown>>;

type Tree = Record<string, unknown>;

/** Used when no file is given. `timestamp`: `20260701093000`. */
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
 * `file` is the tree that the arguments are laid over: what they replace in its lists is looked up
 * there.
 */
export function overridesOf(settings: TuneSettings, file: ConfigTree): ConfigTree {
  const { trainDataset, evalDataset, model, auxiliaryModels, algorithm } = settings;
  return withoutNothing({
    mode: file['mode'] === undefined ? 'both' : undefined,
    project: settings.projectName,
    name: settings.experimentName,
    algorithm: algorithm && algorithmSection(AlgorithmConfig(algorithm)),
    model: model && modelSection(TunerModelConfig(model)),
    buffer: {
      ...(algorithm && { batch_size: AlgorithmConfig(algorithm).batchSize }),
      ...(trainDataset && {
        total_epochs: DatasetConfig(trainDataset).totalEpochs,
        total_steps: DatasetConfig(trainDataset).totalSteps,
      }),
      explorer_input: explorerInput(
        trainDataset,
        evalDataset,
        at(file, 'buffer', 'explorer_input'),
      ),
    },
    explorer: {
      ...(algorithm && { eval_interval: AlgorithmConfig(algorithm).evalIntervalSteps }),
      rollout_model: model && rolloutModelSection(TunerModelConfig(model)),
      auxiliary_models:
        auxiliaryModels &&
        auxiliarySection(auxiliaryModels, at(file, 'explorer')['auxiliary_models']),
    },
    trainer: algorithm && { save_interval: AlgorithmConfig(algorithm).saveIntervalSteps },
    monitor:
      settings.monitorType === undefined ? undefined : { monitor_type: settings.monitorType },
  });
}

const algorithmSection = ({ algorithmType, learningRate, groupSize }: AlgorithmConfig): Tree => ({
  algorithm_type: algorithmType,
  repeat_times: groupSize,
  optimizer: { lr: learningRate },
});

function modelSection(model: TunerModelConfig): Tree {
  assertTrainable(model);
  return {
    model_path: model.modelPath,
    max_model_len: model.maxModelLen,
    max_response_tokens: model.maxTokens,
    temperature: model.temperature,
    top_p: model.topP,
    enable_thinking: model.enableThinking,
  };
}

/** What trained and auxiliary models have in common. */
function speechSection(model: TunerModelConfig): Tree {
  return {
    // One is the default of the engines, and says nothing.
    tensor_parallel_size: model.tensorParallelSize === 1 ? undefined : model.tensorParallelSize,
    engine_num: model.inferenceEngineNum === 1 ? undefined : model.inferenceEngineNum,
    enable_openai_api: true,
    enable_auto_tool_choice: model.toolCallParser !== null,
    tool_call_parser: model.toolCallParser,
    reasoning_parser: model.reasoningParser,
  };
}

const rolloutModelSection = (model: TunerModelConfig): Tree => ({
  ...speechSection(model),
  enable_history: true,
});

function auxiliarySection(
  models: Readonly<Record<string, TunerModelFields>>,
  inFile: unknown,
): readonly unknown[] {
  const own = Object.entries(models).map(([name, fields]) => {
    const model = TunerModelConfig(fields);
    const { baseUrl, apiKey } = model;
    return { name, ...modelAt(model), ...speechSection(model), base_url: baseUrl, api_key: apiKey };
  });
  const names = new Set(own.map(({ name }) => name));
  const kept = listOf(inFile).filter((model) => !names.has(String((model as Tree)['name'])));
  return [...kept, ...own];
}

const modelAt = (model: TunerModelConfig): Tree => ({
  model_path: model.modelPath,
  max_model_len: model.maxModelLen,
  max_response_tokens: model.maxTokens,
  temperature: model.temperature,
  top_p: model.topP,
  enable_thinking: model.enableThinking,
});

/**
 * The file's first task set keeps what the arguments do not say: its format, its selector. Every
 * row goes to the user's function.
 */
function explorerInput(
  train: DatasetFields | undefined,
  evaluation: DatasetFields | undefined,
  inFile: Tree,
): Tree {
  const sets: Tree = { default_workflow_type: adapterWorkflowName };
  for (const key of [...singleKeys, ...listKeys]) {
    const given = listOf(inFile[key]) as readonly Tree[];
    if (!given.some((set) => set['default_workflow_type'] !== undefined)) continue;
    const own = given.map((set) => ({ ...set, default_workflow_type: adapterWorkflowName }));
    sets[key] = Array.isArray(inFile[key]) ? own : own[0];
  }
  if (train) {
    const [first] = [
      ...listOf(inFile['taskset']),
      ...listOf(inFile['task_set']),
      ...listOf(inFile['tasksets']),
    ] as readonly Tree[];
    // Nothing takes the place of a single one: the list holds it.
    for (const key of singleKeys) if (inFile[key] !== undefined) sets[key] = null;
    const own =
      first?.['default_workflow_type'] === undefined
        ? {}
        : { default_workflow_type: adapterWorkflowName };
    sets['tasksets'] = [
      { name: 'train', ...first, ...own, ...datasetSection(DatasetConfig(train)) },
    ];
  }
  if (evaluation) {
    const key = inFile['eval_taskset'] === undefined ? 'eval_tasksets' : 'eval_taskset';
    const others = listOf(sets[key] ?? inFile[key]).filter(
      (set) => (set as Tree)['name'] !== evalName,
    );
    sets[key] = [...others, { name: evalName, ...datasetSection(DatasetConfig(evaluation)) }];
  }
  return sets;
}

const evalName = 'eval_taskset';
const singleKeys = ['taskset', 'task_set'];
const listKeys = ['tasksets', 'eval_taskset', 'eval_tasksets'];

const datasetSection = ({ path, name, split }: DatasetConfig): Tree => ({
  path,
  subset_name: name,
  split,
});

const listOf = (value: unknown): readonly unknown[] =>
  Array.isArray(value) ? value : value === undefined || value === null ? [] : [value];

function at(tree: ConfigTree, ...keys: readonly string[]): Tree {
  let current: unknown = tree;
  for (const key of keys)
    current = typeof current === 'object' && current !== null ? (current as Tree)[key] : undefined;
  return typeof current === 'object' && current !== null ? (current as Tree) : {};
}

/** Neither keys without a value nor sections without keys. */
function withoutNothing(tree: Tree): ConfigTree {
  const kept = Object.entries(tree).flatMap(
    ([key, value]): readonly (readonly [string, unknown])[] => {
      if (value === undefined) return [];
      if (Array.isArray(value))
        return [[key, value.map((item) => (isTree(item) ? withoutNothing(item) : item))]];
      if (!isTree(value)) return [[key, value]];
      const inner = withoutNothing(value);
      return Object.keys(inner).length === 0 ? [] : [[key, inner]];
    },
  );
  return Object.fromEntries(kept);
}

const isTree = (value: unknown): value is Tree =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
