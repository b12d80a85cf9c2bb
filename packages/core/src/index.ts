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
  stringArg,
  type Arg,
  type ArgForm,
  type ArgSpec,
  type ArgValues,
} from './args.js';
export type { ArgProblem, ArgsSchema } from './args-schema.js';
export type {
  ExperienceRows,
  ExperienceSource,
  ExperienceStore,
  Lease,
  TaskSource,
} from './buffer.js';
export { runKey, type Eid } from './eid.js';
export type {
  AdapterOptions,
  CriticEngineOptions,
  Engine,
  EngineCapabilities,
  EngineFactory,
  ModelCheck,
  EngineFacts,
  EngineOptions,
  RemoteSampler,
  Sampler,
  SamplerCapabilities,
  SamplerFactory,
  SamplerOptions,
  ServerAddress,
  TrainEngine,
  ValueEngine,
} from './engine.js';
export {
  ConfigError,
  EnvironmentError,
  ModelError,
  TrinityError,
  WorkflowError,
  describeError,
} from './errors.js';
export { createExperience, type Experience, type ExperienceInit } from './experience.js';
export type { Metrics } from './metrics.js';
export type {
  ChatMessage,
  ChatOptions,
  ChatResponse,
  RolloutModel,
  ToolCall,
  ToolDefinition,
} from './model.js';
export type { MetricRecord, MetricSink } from './monitor.js';
export type { Needs, PythonNeeds } from './needs.js';
export type { Random } from './random.js';
export type { RewardFn, RewardInput, RewardParts } from './reward.js';
export { createRuntime, type Clock, type Logger, type Runtime } from './runtime.js';
export {
  taskPrompt,
  taskTruth,
  type RawTask,
  type SplitName,
  type Task,
  type TaskRange,
} from './task.js';
