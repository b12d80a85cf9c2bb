export type { RecordedFork } from './rollout/history.js';
export type { RolloutClient } from './client.js';
export { rolloutContext, type RolloutContext } from './http/rollout-context.js';
export type { EndpointLimits } from './http/limits.js';
export {
  openEndpointServer,
  type EndpointMount,
  type EndpointServer,
  type EndpointServerOptions,
  type MountOptions,
} from './http/server.js';
export {
  toResponse,
  type Answer,
  type AnswerHandler,
  type WholeAnswer,
} from './protocols/shared/answer/answer.js';
export type { EndpointPolicy, Heartbeat } from './protocols/shared/endpoint-policy.js';
export type {
  RecordedAnswer,
  RecordingModel,
  RolloutLimits,
  RolloutModelOptions,
  SamplingDefaults,
} from './recording-model.js';
export { createRolloutModel } from './rollout-model.js';
