/** Chooses the device of a stage with `model.device: auto`. */
import type { StageConfig } from '@trinity-rft/config';
import type { DeviceChoice, DeviceModel, DeviceQuestion } from '@trinity-rft/core/engine';
import type { EngineTable } from '../../context/stage-context.js';
import { engineNamed } from './engines.js';
import { startQuantization } from './model-folder.js';

export interface DeviceOptions extends Omit<DeviceQuestion, keyof DeviceModel> {
  readonly engines: EngineTable;
}

/** Returns the properties of the stage's model on which the choice of a device depends. */
export function deviceModelOf(stage: StageConfig, startModel: string): DeviceModel {
  const { threads, memoryBudgetMb, maxModelLen, lora } = stage.model;
  const quantization = startQuantization(stage);
  return { modelPath: startModel, threads, memoryBudgetMb, maxModelLen, lora, quantization };
}

/**
 * Asks the stage's engine to choose a device. Chooses the CPU if the engine supports no other
 * device.
 */
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
 * Replaces `model.device: auto` by the device that the engine chooses, and reports the choice.
 * Replaces it by `cpu` if the engine cannot choose without a measurement.
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
