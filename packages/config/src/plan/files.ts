import { relative } from 'node:path';
import type { StageConfig } from '../resolve/base/resolved.js';
import type { SinkName } from '../schema/runtime.js';
import type { StepPlan } from './steps.js';

/**
 * Returns the paths of the files that a stage writes, relative to the stage's folder.
 * `global_step_<n>/` is a Hugging Face model folder.
 */
export function planFiles(stage: StageConfig, steps: StepPlan): readonly string[] {
  const { mode, part, buffer, monitor, stageName } = stage;
  const { checkpoints } = steps;
  if (part === 'explore') return [`explorers/${stage.explorer.name}/log/trinity.log`];
  const store = buffer.trainerInput.experienceBuffer;
  const stored =
    mode !== 'train' && mode !== 'bench' && store.storageType !== 'file' && store.path !== undefined
      ? [relative(stage.jobDirectory, store.path)]
      : [];
  const often =
    checkpoints === undefined
      ? `every ${stage.trainer.saveInterval} train steps`
      : `${checkpoints} checkpoint${checkpoints === 1 ? '' : 's'}`;
  return [
    'log/trinity.log',
    'monitor/metrics.jsonl',
    ...monitor.sinks.map((sink) => monitorFile(sink, monitor.sharedRun)),
    ...stored,
    ...(stage.dataProcessor.taskPipeline === undefined ? [] : ['task_pipeline/']),
    ...(part === 'train' && !stage.runStore.includes('://')
      ? [relative(stage.jobDirectory, stage.runStore)]
      : []),
    ...(mode === 'serve' ? ['serve/calls.db'] : []),
    ...(mode === 'bench' ? [] : [`global_step_<n>/ (${often})`]),
    ...(stageName === undefined ? [] : ['../stage_meta.json']),
  ];
}

/**
 * Returns the path of the files that are written for a tracking service: the event files of
 * TensorBoard, or a record of the data that another service has received.
 */
const monitorFile = (sink: SinkName, sharedRun: boolean): string =>
  sink === 'tensorboard'
    ? 'monitor/tensorboard/'
    : `monitor/${sink}${sharedRun ? '' : '_<role>'}.json`;
