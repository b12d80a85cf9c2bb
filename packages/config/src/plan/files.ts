/** The files that a stage writes. */
import { relative } from 'node:path';
import type { StageConfig } from '../resolve/base/resolved.js';
import type { StepPlan } from './steps.js';

/** Paths relative to the stage's folder; `global_step_<n>/` is a Hugging Face folder. */
export function planFiles(stage: StageConfig, steps: StepPlan): readonly string[] {
  const { mode, part, buffer, monitor, stageName } = stage;
  if (part === 'explore') return [`explorers/${stage.explorer.name}/log/trinity.log`];
  const store = buffer.trainerInput.experienceBuffer;
  const stored =
    mode !== 'train' && mode !== 'bench' && store.storageType !== 'file' && store.path !== undefined
      ? [relative(stage.jobDirectory, store.path)]
      : [];
  return [
    'log/trinity.log',
    'monitor/metrics.jsonl',
    ...monitor.sinks.flatMap((sink) => monitorFiles(sink, monitor)),
    ...stored,
    ...(stage.dataProcessor.taskPipeline === undefined ? [] : ['task_pipeline/']),
    ...(part === 'train' && !stage.runStore.includes('://')
      ? [relative(stage.jobDirectory, stage.runStore)]
      : []),
    ...(mode === 'serve' ? ['serve/calls.db'] : []),
    ...(mode === 'bench'
      ? []
      : [
          `global_step_<n>/ (${steps.checkpoints === undefined ? 'every ' + String(stage.trainer.saveInterval) + ' train steps' : count(steps.checkpoints)})`,
        ]),
    ...(stageName === undefined ? [] : ['../stage_meta.json']),
  ];
}

/**
 * Files of a tracking service. The service receives the metrics itself; a file for each of its runs
 * records what it has received.
 */
function monitorFiles(
  sink: StageConfig['monitor']['sinks'][number],
  { sharedRun }: StageConfig['monitor'],
): readonly string[] {
  if (sink === 'tensorboard') return ['monitor/tensorboard/'];
  return sharedRun ? [`monitor/${sink}.json`] : [`monitor/${sink}_<role>.json`];
}

function count(checkpoints: number): string {
  return checkpoints === 1 ? '1 checkpoint' : `${checkpoints} checkpoints`;
}
