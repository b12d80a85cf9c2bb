export {
  noNeeds,
  type AdvantageFn,
  type AlgorithmNeeds,
  type BatchAdvantageFn,
  type ExperienceOperator,
  type LossInput,
  type LossOutput,
  type PolicyLossFn,
} from './algorithm.js';
export {
  booleanArg,
  choiceArg,
  listArg,
  numberArg,
  onlyWith,
  stringArg,
  type Arg,
  type ArgCondition,
  type ArgForm,
  type ArgSpec,
  type ArgValues,
} from './args.js';
export type { ArgProblem, ArgsSchema } from './args-schema.js';
export { groupBy, runKey, taskKey, uid, type Eid } from './eid.js';
export {
  BufferError,
  type CancelReason,
  CancelledError,
  CheckpointError,
  ConfigError,
  EngineError,
  EnvironmentError,
  InvariantError,
  ModelError,
  RewardError,
  SyncError,
  TaskError,
  TrinityError,
  WorkflowError,
  describeError,
  throwIfAborted,
} from './errors.js';
export {
  actionCount,
  type CallSpan,
  createExperience,
  type Experience,
  type ExperienceInit,
  isExpert,
  responseLength,
  unknownPolicyVersion,
  withFields,
} from './experience.js';
export { gatherMetrics, mean, meanMetrics, type Metrics } from './metrics.js';
export type {
  ChatMessage,
  ChatOptions,
  ChatResponse,
  RolloutModel,
  ToolCall,
  ToolDefinition,
} from './model.js';
export type { MetricRecord, MetricRole, MetricSink, Monitor } from './monitor.js';
export type { Needs, PythonNeeds } from './needs.js';
export { createRandom, deriveSeed, type Random } from './random.js';
export {
  isUsableReward,
  type RewardFn,
  type RewardInput,
  type ReasonedReward,
  type RewardParts,
  type RewardResult,
  usableReward,
} from './reward.js';
export {
  createRuntime,
  type Clock,
  type Logger,
  type LogLevel,
  type Runtime,
  silentLogger,
  sleep,
  systemClock,
} from './runtime.js';
export {
  defaultFormatArgs,
  taskPrompt,
  taskSystemPrompt,
  taskTruth,
  type RawTask,
  type SplitName,
  type Task,
  type TaskRange,
} from './task.js';
export { spansOf } from './trajectory.js';
