/** Chooses the device of a stage with `model.device: auto`. */
import type { StageConfig } from '@trinity-rft/config';
import type { DeviceChoice, DeviceModel, DeviceQuestion } from '@trinity-rft/core/engine';
import type { EngineTable } from '../../context/stage-context.js';
import { engineNamed } from './engines.js';
import { startQuantization } from './model-folder.js';

export interface DeviceOptions extends Omit<DeviceQuestion, keyof DeviceModel> {
  readonly engines: EngineTable;
}

/** Returns the properties of the stage's model that affect the speed of a device. */
export function deviceModelOf(stage: StageConfig, startModel: string): DeviceModel {
  const { threads, memoryBudgetMb, maxModelLen, lora } = stage.model;
  const quantization = startQuantization(stage);
  return { modelPath: startModel, threads, memoryBudgetMb, maxModelLen, lora, quantization };
}

/** Lets the stage's engine choose a device. */
export async function chooseDevice(
  stage: StageConfig,
  startModel: string,
  { engines, ...asked }: DeviceOptions,
): Promise<DeviceChoice> {
  const engine = engineNamed(engines, stage.engine);
  const choice = await engine.chooseDevice?.({ ...deviceModelOf(stage, startModel), ...asked });
  return choice ?? { device: 'cpu', why: `The engine ${engine.name} has one device.` };
}

/**
 * Replaces `model.device: auto` by a device and reports the choice. Without a measurement, the
 * device is the CPU.
 */
export async function withDevice(
  stage: StageConfig,
  startModel: string,
  options: DeviceOptions,
): Promise<StageConfig> {
  if (stage.model.device !== 'auto') return stage;
  const { device = 'cpu', why } = await chooseDevice(stage, startModel, options);
  options.report(`model.device: auto uses ${device}. ${why}`);
  return onDevice(stage, device);
}

export const onDevice = (stage: StageConfig, device: 'cpu' | 'webgpu'): StageConfig => ({
  ...stage,
  model: { ...stage.model, device },
});
