/** Keeps the device of a run with `model.device: auto`, because devices compute other numbers. */
import type { ResolvedConfig, StageConfig } from '@trinity-rft/config';
import { onDevice } from '../../assembly/models/device.js';
import { readRecord } from './record.js';

/** Replaces `auto` by the recorded device. An explorer chooses for its own machine. */
export function withRecordedDevices<T extends ResolvedConfig>(config: T): T {
  const { jobDirectory, stages } = config;
  const [first, ...rest] = stages;
  const isOpen = ({ model, part }: StageConfig): boolean =>
    model.device === 'auto' && part !== 'explore';
  if (!stages.some(isOpen)) return config;
  const record = readRecord(jobDirectory);
  const inStage = (stage: StageConfig): StageConfig => {
    const device = record?.stages[stage.stageIndex]?.['model.device'];
    const isKnown = device === 'cpu' || device === 'webgpu';
    return isOpen(stage) && isKnown ? onDevice(stage, device) : stage;
  };
  return { ...config, stages: [inStage(first), ...rest.map(inStage)] };
}
