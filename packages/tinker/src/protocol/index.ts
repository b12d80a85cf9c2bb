export { type ErrorAction, type ErrorPlace, actionFor, errorDetail, isDiskFull } from './errors.js';
export {
  type Datum,
  type ForwardBackwardRequest,
  type ForwardBackwardResult,
  decodeForwardBackward,
  decodeForwardBackwardResult,
  encodeForwardBackward,
  encodeForwardBackwardResult,
} from './forward-backward.js';
export {
  type JsonRequest,
  type JsonVerb,
  type FailedResult,
  capabilitiesAnswer,
  failedResult,
  loadResult,
  modelAnswer,
  modelResult,
  paths,
  pendingAnswer,
  protobufType,
  requestSchemas,
  samplerResult,
  samplingSessionAnswer,
  saveResult,
  sessionAnswer,
  stepResult,
  tryAgainResult,
  weightsInfoAnswer,
} from './messages.js';
export {
  type SampledTokens,
  type SampleResult,
  type TopTokens,
  alignPromptLogprobs,
  decodeSampleResult,
  encodeSampleResult,
} from './sample.js';
export { type TensorValues } from './tensors.js';
export {
  type TinkerPath,
  type WeightsKind,
  formatTinkerPath,
  parseTinkerPath,
} from './tinker-path.js';
