export type { RolloutClient } from './client.js';
export type { RecordingModel, RolloutLimits, RolloutModelOptions, SamplingDefaults } from './options.js';
export { createRolloutModel } from './rollout-model.js';
