/** Resolves the task sets for training and evaluation. */
import type { RolloutArgs } from '@trinity-rft/core/internal';
import { evalTaskset, taskset as tasksetKeys } from '../../schema/buffer.js';
import { generation } from '../../schema/data.js';
import { inherit, resolveSection } from '../../schema/resolve-section.js';
import type { RunInput } from '../../schema/root.js';
import type { KeyPath } from '../../source/node.js';
import { sayIgnored, type StageContext } from '../base/context.js';
import { checkName } from '../base/paths.js';
import { positionsOf } from '../model/model-folder.js';
import type {
  AlgorithmConfig,
  AuxiliaryModelConfig,
  BufferConfig,
  ModelConfig,
  RolloutModelConfig,
  TaskPipelineConfig,
  TasksetConfig,
} from '../base/resolved.js';
import { deriveDatabase, deriveDataset } from './dataset.js';
import { deriveGenerated } from './generated-tasks.js';
import { checkTaskNames } from './task-names.js';
import { deriveTaskSelector } from './task-selector.js';

type TasksetInput = RunInput['buffer']['explorer_input']['tasksets'][number];
type List = 'tasksets' | 'eval_tasksets';

export interface TasksetNeeds {
  readonly model: ModelConfig;
  /** Settings of the sampled model, which are the defaults of `rollout_args`. */
  readonly rolloutModel: RolloutModelConfig;
  readonly algorithm: AlgorithmConfig;
  readonly auxiliaryModels: readonly AuxiliaryModelConfig[];
  readonly taskPipeline: TaskPipelineConfig | undefined;
}

const section: KeyPath = ['buffer', 'explorer_input'];

/**
 * Returns the task sets to explore and to evaluate. The lists are empty if the mode uses no tasks.
 */
export function deriveTasksets(
  context: StageContext,
  needs: TasksetNeeds,
): BufferConfig['explorerInput'] {
  const { explorer_input: input } = context.input.buffer;
  const { mode } = context;
  const derive = (list: List): readonly TasksetConfig[] =>
    input[list].map((each, index) => deriveTaskset(context, [list, index], each, needs));
  const tasksets = mode === 'both' ? derive('tasksets') : [];
  const evalTasksets = mode === 'both' || mode === 'bench' ? derive('eval_tasksets') : [];
  if (mode === 'both' && tasksets.length === 0)
    context.report(
      [...section, 'tasksets'],
      `is empty, but mode ${context.part ?? mode} needs tasks. Set buffer.explorer_input.taskset with at least a path.`,
      [['mode']],
    );
  if (mode === 'bench' && evalTasksets.length === 0)
    context.report(
      [...section, 'eval_tasksets'],
      'is empty, but mode bench evaluates on it. Set at least one with a path.',
    );
  checkNames(context, 'tasksets', tasksets);
  checkNames(context, 'eval_tasksets', evalTasksets);
  return { tasksets, evalTasksets };
}

function checkNames(context: StageContext, list: List, sets: readonly TasksetConfig[]): void {
  const seen = new Set<string>();
  for (const [index, { name }] of sets.entries()) {
    if (seen.has(name))
      context.report(
        [...section, list, index, 'name'],
        `got "${name}", which another one of ${list} has already. Names must differ: metrics and states are stored under them.`,
      );
    seen.add(name);
  }
}

function deriveTaskset(
  context: StageContext,
  [list, index]: readonly [List, number],
  input: TasksetInput,
  { model, rolloutModel, algorithm, auxiliaryModels, taskPipeline }: TasksetNeeds,
): TasksetConfig {
  const place: KeyPath = [...section, list, index];
  const isEval = list === 'eval_tasksets';
  const name = input.name === '' ? `${isEval ? 'eval_taskset' : 'taskset'}_${index}` : input.name;
  checkName(context, [...place, 'name'], name);
  const [made] = isEval ? [] : (taskPipeline?.inputs ?? []);
  const { inputs = [] } = context.input.data_processor.task_pipeline ?? {};
  const hasInputs = !isEval && inputs.length > 0;
  const own =
    hasInputs || input.storage_type === 'generated'
      ? { ...input, name, path: null }
      : { ...input, name };
  const isGenerated = input.storage_type === 'generated';
  if (input.path === null && !hasInputs && !isGenerated)
    context.report(
      [...place, 'path'],
      'is missing. Give a JSON lines, JSON or Parquet file, a folder of them, or a data set of the hub such as openai/gsm8k.',
    );
  sayUnreadKeys(context, place, input, isEval);
  const defaults = context.input.buffer.explorer_input;
  const workflow = deriveWorkflow(context, place, input, isEval);
  const taskset: TasksetConfig = {
    ...resolveSection(isEval ? evalTaskset : tasksetKeys, input),
    ...deriveDataset(context, place, own, model),
    ...(input.storage_type === 'sql' ? deriveDatabase(context, place, input) : {}),
    ...(isGenerated ? deriveGenerated(context, place, input, { isEval, workflow }) : {}),
    ...(made ? { ...made, storageType: 'file' } : {}),
    dataSelector: deriveTaskSelector(context, place, input.data_selector),
    isEval,
    workflow,
    rewardFn: input.default_reward_fn_type ?? defaults.default_reward_fn_type ?? undefined,
    namesRewardFn: input.default_reward_fn_type !== null,
    rolloutArgs: deriveRolloutArgs(context, [...place, 'rollout_args'], input.rollout_args, {
      model,
      rolloutModel,
    }),
    repeatTimes: isEval ? input.repeat_times : algorithm.repeatTimes,
  };
  checkTaskNames(context, { place, input, taskset, auxiliaryModels });
  return taskset;
}

/** Keys of task sets that only some kinds of storage read. */
const keysOfKinds = {
  sql: ['table', 'query'],
  generated: ['task_count', 'task_seed'],
} as const;

/** Keys of `data_selector` that only some orders read. */
const keysOfOrders: Readonly<Record<string, readonly string[]>> = {
  feature_keys: ['offline_easy2hard', 'difficulty_based'],
  kwargs: ['difficulty_based'],
  seed: ['shuffle', 'random', 'difficulty_based'],
};

function sayUnreadKeys(
  context: StageContext,
  place: KeyPath,
  { storage_type: type, data_selector: selector }: TasksetInput,
  isEval: boolean,
): void {
  for (const [kind, names] of Object.entries(keysOfKinds))
    // Generated tasks report the keys of a database themselves.
    if (kind !== type && type !== 'generated')
      sayIgnored(context, place, names, `It is for storage_type: ${kind}.`);
  if (isEval)
    sayIgnored(
      context,
      place,
      ['data_selector'],
      'Evaluations take every row, in the order of the data set.',
    );
  else
    for (const [key, orders] of Object.entries(keysOfOrders))
      if (!orders.includes(selector.selector_type))
        sayIgnored(
          context,
          [...place, 'data_selector'],
          [key],
          `It is for selector_type: ${orders.join(', ')}.`,
        );
}

/** Returns the name of the workflow, or undefined if every row names a workflow. */
function deriveWorkflow(
  context: StageContext,
  place: KeyPath,
  input: TasksetInput,
  isEval: boolean,
): string | undefined {
  const defaults = context.input.buffer.explorer_input;
  const workflow =
    input.default_workflow_type ??
    (isEval ? defaults.default_eval_workflow_type : null) ??
    defaults.default_workflow_type ??
    undefined;
  if (workflow === undefined && input.format.workflow_key === '')
    context.report(
      [...place, 'default_workflow_type'],
      'is not set, neither here nor in explorer_input. Name a registered workflow, for example math_workflow.',
      [[...section, 'default_workflow_type']],
    );
  return workflow;
}

function deriveRolloutArgs(
  context: StageContext,
  place: KeyPath,
  input: TasksetInput['rollout_args'],
  { model, rolloutModel }: Pick<TasksetNeeds, 'model' | 'rolloutModel'>,
): Required<RolloutArgs> {
  const own = resolveSection(generation, input);
  const { maxModelLen, maxResponseTokens } = rolloutModel;
  if (own.maxTokens !== undefined && own.maxTokens >= maxModelLen) {
    const rolloutKey = ['explorer', 'rollout_model', 'max_model_len'];
    const key = context.isSet(...rolloutKey) ? rolloutKey : ['model', 'max_model_len'];
    const raise =
      maxModelLen < positionsOf(model, context.disk) ? `, or raise ${key.join('.')}` : '';
    context.report(
      [...place, 'max_tokens'],
      `got ${own.maxTokens}, which leaves no room for a prompt within ${key.join('.')}, ${maxModelLen}. Lower it${raise}.`,
      [['model'], rolloutKey],
    );
  } else if (own.maxTokens !== undefined && own.maxTokens > maxResponseTokens) {
    const rolloutKey = ['explorer', 'rollout_model', 'max_response_tokens'];
    const key = context.isSet(...rolloutKey) ? rolloutKey : ['model', 'max_response_tokens'];
    context.warn(
      [...place, 'max_tokens'],
      `got ${own.maxTokens}, but no answer is longer than ${key.join('.')}, ${maxResponseTokens}. Raise that one, or lower this one.`,
    );
  }
  return { ...inherit(own, { ...rolloutModel, maxTokens: rolloutModel.maxResponseTokens }), n: 1 };
}
