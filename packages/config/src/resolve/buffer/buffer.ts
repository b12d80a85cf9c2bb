/** Tasks in, experiences out: batch sizes, task sets and the experience buffer. */
import { expertCount } from '@trinity-rft/algorithm';
import type { RolloutArgs } from '@trinity-rft/core';
import type {
  AlgorithmConfig,
  BufferConfig,
  ModelConfig,
  TasksetConfig,
} from '../base/resolved.js';
import { evalTaskset, taskset } from '../../schema/buffer.js';
import { generation } from '../../schema/data.js';
import { inherit, resolveSection } from '../../schema/resolve-section.js';
import type { RunInput } from '../../schema/root.js';
import type { KeyPath } from '../../source/node.js';
import type { StageContext } from '../base/context.js';
import { deriveDataset } from './dataset.js';
import { deriveAuxiliaryBuffers, deriveExperienceBuffer } from './experience-buffer.js';
import { checkName } from '../base/paths.js';
import { deriveExperts } from './sample-strategy.js';

type TasksetInput = RunInput['buffer']['explorer_input']['tasksets'][number];

export interface BufferNeeds {
  readonly model: ModelConfig;
  readonly algorithm: AlgorithmConfig;
  /** The stage's folder. */
  readonly jobDirectory: string;
}

export function deriveBuffer(context: StageContext, needs: BufferNeeds): BufferConfig {
  const { buffer, mode } = context.input;
  const { explorer_input: input } = buffer;
  const explores = mode === 'both' || mode === 'colocate';
  const evaluates = explores || mode === 'bench';
  const tasksets = explores
    ? input.tasksets.map((taskset, index) =>
        deriveTaskset(context, 'tasksets', index, taskset, needs),
      )
    : [];
  const evalTasksets = evaluates
    ? input.eval_tasksets.map((taskset, index) =>
        deriveTaskset(context, 'eval_tasksets', index, taskset, needs),
      )
    : [];
  checkTasksets(context, explores, tasksets, evalTasksets);
  const trainBatchSize = deriveTrainBatchSize(context, needs.algorithm);
  const buffers = deriveAuxiliaryBuffers(context, needs.model);
  return {
    ...resolveSection(context.sections.buffer, buffer),
    trainBatchSize,
    explorerInput: { tasksets, evalTasksets },
    trainerInput: {
      experienceBuffer: deriveExperienceBuffer(context, needs.model, needs),
      experts: deriveExperts(context, needs.algorithm, { trainBatchSize, buffers }),
    },
  };
}

function checkTasksets(
  context: StageContext,
  explores: boolean,
  tasksets: readonly TasksetConfig[],
  evalTasksets: readonly TasksetConfig[],
): void {
  const section: KeyPath = ['buffer', 'explorer_input'];
  if (explores && tasksets.length === 0) {
    context.report(
      [...section, 'tasksets'],
      'is empty, but mode both needs tasks. Set buffer.explorer_input.taskset with at least a path.',
      [['mode']],
    );
  }
  if (context.input.mode === 'bench' && evalTasksets.length === 0) {
    context.report(
      [...section, 'eval_tasksets'],
      'is empty, but mode bench evaluates on it. Set at least one with a path.',
    );
  }
  for (const [list, sets] of [
    ['tasksets', tasksets],
    ['eval_tasksets', evalTasksets],
  ] as const) {
    const seen = new Set<string>();
    for (const [index, { name }] of sets.entries()) {
      if (seen.has(name))
        context.report(
          [...section, list, index, 'name'],
          `got "${name}", which another one of ${list} has already. Names must differ: metrics and states are filed under them.`,
        );
      seen.add(name);
    }
  }
}

/**
 * Experiences per train step (pairs, where the algorithm learns from them): as set, else what one
 * explore step makes, and the experts beside it.
 */
function deriveTrainBatchSize(context: StageContext, algorithm: AlgorithmConfig): number {
  const { buffer, mode, synchronizer } = context.input;
  const path: KeyPath = ['buffer', 'train_batch_size'];
  const uses: readonly KeyPath[] = [
    ['buffer', 'batch_size'],
    ['algorithm', 'repeat_times'],
    ['algorithm', 'algorithm_type'],
  ];
  const perStep = buffer.batch_size * algorithm.repeatTimes;
  const share = expertShare(algorithm);
  if (buffer.train_batch_size === 0) {
    if (mode === 'train' && !context.isSet('buffer', 'batch_size'))
      context.report(
        path,
        'is not set. Mode train needs the number of experiences per train step, for example 64.',
        uses,
      );
    return batchWith(perStep, share);
  }
  if (mode !== 'both' && mode !== 'colocate') return buffer.train_batch_size;
  const experts = expertCount(share, buffer.train_batch_size);
  const explored = buffer.train_batch_size - experts;
  const shortage = explored > perStep;
  const advantage = context.tables.advantageFns[algorithm.advantageFn?.name ?? ''];
  const mayMakeMore = advantage?.experiencesPerRun === 'many';
  const sum = `batch_size ${buffer.batch_size} x repeat_times ${algorithm.repeatTimes} = ${perStep}`;
  const own = experts === 0 ? '' : `, ${explored} of them from the explorer`;
  if (shortage && synchronizer.sync_style === 'fixed' && !mayMakeMore) {
    const message = `got ${buffer.train_batch_size}${own}, but an explore step makes ${sum} experiences, so with sync_style fixed explorer and trainer would wait for each other. Use at most ${batchWith(perStep, share)}, or sync_style: explorer_driven.`;
    context.report(path, message, [...uses, ['synchronizer', 'sync_style']]);
  } else if (!shortage && explored > 0 && perStep % explored !== 0) {
    context.warn(
      path,
      `${explored} does not divide ${sum}; what is left of a step waits for the next one.`,
    );
  }
  return buffer.train_batch_size;
}

/**
 * Rows of a batch that has so many of the model beside its share of experts; 1e-9 is for the
 * rounding of the quotient.
 */
const batchWith = (own: number, share: number): number =>
  share < 1 ? Math.floor(own / (1 - share) + 1e-9) : own;

/** Of a train batch, from the experts' buffer. */
function expertShare({ sampleStrategy: { name, args } }: AlgorithmConfig): number {
  const { expertDataRatio: share } = args;
  return name === 'mix' && typeof share === 'number' ? share : 0;
}

function deriveTaskset(
  context: StageContext,
  list: 'tasksets' | 'eval_tasksets',
  index: number,
  input: TasksetInput,
  needs: BufferNeeds,
): TasksetConfig {
  const at = (...keys: KeyPath): KeyPath => ['buffer', 'explorer_input', list, index, ...keys];
  const isEval = list === 'eval_tasksets';
  const defaults = context.input.buffer.explorer_input;
  const name = input.name === '' ? `${isEval ? 'eval_taskset' : 'taskset'}_${index}` : input.name;
  checkName(context, at('name'), name);
  if (input.path === null)
    context.report(
      at('path'),
      'is missing. Give a JSON lines, JSON or Parquet file, a folder of them, or a data set of the hub such as openai/gsm8k.',
    );
  const common = defaults.default_workflow_type ?? undefined;
  const workflow =
    input.default_workflow_type ??
    (isEval ? (defaults.default_eval_workflow_type ?? common) : common);
  if (workflow === undefined && input.format.workflow_key === '') {
    context.report(
      at('default_workflow_type'),
      'is not set, neither here nor in explorer_input. Name a registered workflow, for example math_workflow.',
      [['buffer', 'explorer_input', 'default_workflow_type']],
    );
  }
  return {
    ...resolveSection(isEval ? evalTaskset : taskset, input),
    ...deriveDataset(context, at(), { ...input, name }, needs.model),
    isEval,
    workflow,
    rewardFn: input.default_reward_fn_type ?? defaults.default_reward_fn_type ?? undefined,
    rolloutArgs: deriveRolloutArgs(context, at('rollout_args'), input.rollout_args, needs.model),
    repeatTimes: isEval ? input.repeat_times : needs.algorithm.repeatTimes,
  };
}

function deriveRolloutArgs(
  context: StageContext,
  path: KeyPath,
  input: TasksetInput['rollout_args'],
  model: ModelConfig,
): Required<RolloutArgs> {
  const maxTokens = input.max_tokens ?? model.maxResponseTokens;
  if (input.max_tokens !== null && maxTokens >= model.maxModelLen) {
    context.report(
      [...path, 'max_tokens'],
      `got ${maxTokens}, which leaves no room for a prompt within model.max_model_len, ${model.maxModelLen}.`,
      [['model']],
    );
  }
  const own = resolveSection(generation, input);
  return { ...inherit(own, { ...model, maxTokens: model.maxResponseTokens }), n: 1 };
}
