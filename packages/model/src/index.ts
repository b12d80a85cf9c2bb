export type { RecordedFork } from './history.js';
export type { RolloutClient } from './client.js';
export { rolloutContext, type RolloutContext } from './endpoint/context.js';
export type { EndpointLimits } from './endpoint/limits.js';
export {
  openEndpointServer,
  type EndpointMount,
  type EndpointServer,
  type EndpointServerOptions,
  type MountOptions,
} from './endpoint/server.js';
export { toResponse, type Answer, type AnswerHandler, type WholeAnswer } from './handler/answer.js';
export type { EndpointPolicy, Heartbeat } from './handler/policy.js';
export type {
  RecordedAnswer,
  RecordingModel,
  RolloutLimits,
  RolloutModelOptions,
  SamplingDefaults,
} from './options.js';
export { createRolloutModel } from './rollout-model.js';
