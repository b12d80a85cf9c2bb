export { createModel, type NewTokenizer } from './create-model.js';
export type { EvaluatedCheckpoint, ServeAddress, ServeOptions } from './context/stage-context.js';
export {
  readConfiguration,
  type Configuration,
  type ConfigurationOptions,
  type ExtensionOptions,
} from './run/configuration.js';
export { planDownloads, type ModelDownloads } from './assembly/models/hub-models.js';
export { planDevices, readDeviceModel } from './run/devices.js';
export { checkFiles, checkResume, type CheckedFiles } from './run/check-files.js';
export { isUnfinished } from './run/progress.js';
export { run, type RunOptions, type RunSummary } from './run/run.js';
export { standardTerminal } from './terminal.js';
export type { Terminal } from '@trinity-rft/monitor';
