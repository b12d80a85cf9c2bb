/**
 * Reports the device that `model.device: auto` will use, and opens the model that `trinity doctor
 * gpu` measures.
 */
import type { Environment } from '@trinity-rft/buffer/internal';
import type { ResolvedConfig, StageConfig } from '@trinity-rft/config';
import { ConfigError, systemClock } from '@trinity-rft/core';
import type { DeviceModel } from '@trinity-rft/core/engine';
import { chooseDevice, deviceModelOf } from '../assembly/models/device.js';
import { engineNamed } from '../assembly/models/engines.js';
import { withCachedModels, withFetchedModels } from '../assembly/models/hub-models.js';
import { startModelOf } from '../assembly/models/model-folder.js';
import type { EngineTable } from '../context/stage-context.js';
import { withRecordedDevices } from './changes/devices.js';
import { readConfiguration, type ConfigurationOptions } from './configuration.js';

const willMeasure = 'the run measures a step on both devices when it starts, and stores the result';

/**
 * Returns a line for each stage with `model.device: auto` that states which device it will use.
 * Measures and downloads nothing.
 */
export async function planDevices(
  given: ResolvedConfig,
  engines: EngineTable,
  env: Environment = process.env,
): Promise<readonly string[]> {
  const config = withCachedModels(given, env);
  const { stages } = withRecordedDevices(config);
  const lines = config.stages.map(async (stage) => {
    if (stage.model.device !== 'auto') return [];
    const { device } = stages[stage.stageIndex]?.model ?? {};
    const name = stage.stageName === undefined ? '' : `${stage.stageName}: `;
    return [`${name}model.device: auto: ${await expected(config, stage, { device, engines })}`];
  });
  return (await Promise.all(lines)).flat();
}

interface Expected {
  /** Recorded device of the stage; undefined or `auto` if no device is recorded. */
  readonly device: StageConfig['model']['device'] | undefined;
  readonly engines: EngineTable;
}

async function expected(
  config: ResolvedConfig,
  stage: StageConfig,
  { device: recorded, engines }: Expected,
): Promise<string> {
  if (recorded !== 'auto') return `the run keeps ${recorded}, with which it began.`;
  const startModel = await startModelOf(config, stage).catch(() => undefined);
  if (startModel === undefined) return `${willMeasure}.`;
  const asked = { engines, measure: false, report: () => undefined };
  const { device, why } = await chooseDevice(stage, startModel, asked);
  return device === undefined ? `${willMeasure}. ${why}` : `the run will use ${device}. ${why}`;
}

/**
 * Returns the model of a configuration's first stage. Fetches a hub model that is not in the cache.
 * @throws ConfigError for problems of the configuration, and if the engine of the stage has no
 * choice of devices
 */
export async function readDeviceModel(
  options: ConfigurationOptions & { readonly report: (line: string) => void },
): Promise<DeviceModel> {
  const { env = process.env, report } = options;
  const { loaded, engines, environments } = await readConfiguration(options);
  await environments.close();
  const hub = { env, report, clock: systemClock };
  const config = await withFetchedModels(loaded.config, hub, loaded.problemAt);
  const { stages } = config;
  const [stage] = stages;
  if (engineNamed(engines, stage.engine).chooseDevice === undefined)
    throw new ConfigError(
      `${options.configPath} trains with the engine ${stage.engine}, which does not run on a GPU of this machine. Name a configuration of the embedded engine, or none.`,
      { code: 'ENGINE_WITHOUT_DEVICES' },
    );
  if (stages.length > 1)
    report(
      `${options.configPath} has ${stages.length} stages: the model of the first one is measured. With model.device: auto, a stage with another model or other adapters is measured when it starts.`,
    );
  return deviceModelOf(stage, await startModelOf(config, stage));
}
