export { rolloutContext, type RolloutContext } from './http/rollout-context.js';
export { assertServed } from './http/endpoint-handler.js';
export { errorResponseTo } from './protocols/error-response-to.js';
export type { EndpointLimits } from './http/limits.js';
export type { Refusals } from './http/refusals.js';
export type { ScoredRuns, ScoreRun } from './http/rewards.js';
export {
  openEndpointServer,
  type EndpointMount,
  type EndpointServer,
  type EndpointServerOptions,
  type MountOptions,
} from './http/server.js';
export type { Answer, AnswerHandler, WholeAnswer } from './protocols/shared/answer/answer.js';
export type { Heartbeat } from './protocols/shared/answer/delivery.js';
export { modelList, modelObject, type ModelObject } from './protocols/shared/model-list.js';
export type { EndpointPolicy } from './protocols/shared/endpoint-policy.js';
export type {
  RecordedAnswer,
  RecordingModel,
  RolloutClient,
  RolloutModelOptions,
} from './recording-model.js';
export { createRolloutModel } from './rollout-model.js';
export { keptTokensOfServer } from './rollout/generate.js';
export type { RecordedFork } from './rollout/history.js';
export type { RolloutLimits, SamplingDefaults } from './rollout/sampling.js';
