/**
 * Lets a training run with `model.device: auto` resume on the device on which it started, because
 * results differ between devices.
 */
import type { ResolvedConfig, StageConfig } from '@trinity-rft/config';
import { onDevice } from '../../assembly/models/device.js';
import { trainingRecord } from './record.js';

/**
 * Replaces `auto` with the recorded device. Does not change the stages of explorers, which choose
 * the device of their own machine.
 */
export function withRecordedDevices<T extends ResolvedConfig>(config: T): T {
  const { jobDirectory, stages } = config;
  const [first, ...rest] = stages;
  const isOpen = ({ model, part }: StageConfig): boolean =>
    model.device === 'auto' && part !== 'explore';
  if (!stages.some(isOpen)) return config;
  const record = trainingRecord(jobDirectory);
  const inStage = (stage: StageConfig): StageConfig => {
    const device = record?.stages[stage.stageIndex]?.['model.device'];
    const isKnown = device === 'cpu' || device === 'webgpu';
    return isOpen(stage) && isKnown ? onDevice(stage, device) : stage;
  };
  return { ...config, stages: [inStage(first), ...rest.map(inStage)] };
}
