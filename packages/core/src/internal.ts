/** What our own packages share; no promise of stability. */
export type {
  AdvantageInput,
  AdvantageOutput,
  Algorithm,
  KlPenalty,
  ValueLossFn,
  ValueLossInput,
} from './algorithm.js';
export { pickRow, readArgs } from './args.js';
export { argProblems, type ArgsOwner, readArgsBy } from './args-schema.js';
export type { BatchUnit, JsonState, RowFeedback, TakeFilter, TaskRow } from './buffer.js';
export { decodeExperience, encodeExperience } from './codec.js';
export {
  type CheckpointFile,
  type CheckpointManifest,
  checkpointName,
  isCheckpointName,
  readManifest,
  readStored,
  verifyFolder,
  verifyStored,
  writeManifest,
} from './manifest.js';
export { copyOf } from './copy-of.js';
export { asTyped, ownCommand } from './own-command.js';
export { machineMemory } from './machine-memory.js';
export { decodeFields } from './codec-fields.js';
export { emptyEid, groupBy, stepKey, taskKey, uid } from './eid.js';
export type {
  ExpectedLoss,
  ForwardOptions,
  ForwardPass,
  GrammarSymbol,
  OptimizerOptions,
  SampleStop,
  SampledSequence,
  SamplingOptions,
  TokenListener,
  StepStats,
  TextGrammar,
  TokenBatch,
  TokenGradients,
  TokenLogprob,
  TokenRow,
  VocabularySample,
  ValuePass,
  VersionSpan,
  WeightSource,
} from './engine.js';
export { parseJsonExactly } from './exact-json.js';
export { type ErrorRecord, reviveError, toErrorRecord } from './error-record.js';
export {
  BufferError,
  type CancelReason,
  CancelledError,
  CheckpointError,
  EngineError,
  InvariantError,
  RewardError,
  SyncError,
  TaskError,
  boundary,
  boundedText,
  readableThrown,
} from './errors.js';
export {
  type CallSpan,
  actionCount,
  assertAligned,
  responseLength,
  unknownPolicyVersion,
  withFields,
} from './experience.js';
export {
  gatherMetrics,
  mean,
  meanMetrics,
  populationStd,
  prefixMetrics,
  sampleStd,
} from './metrics.js';
export type { FinishReason, ScoreOptions, Vocabulary } from './model.js';
export {
  assertIntact,
  checkedTables,
  hasBeenStored,
  type CheckedTables,
} from './checked-tables.js';
export { checkName } from './names.js';
export { otherInput } from './other-input.js';
export type { MetricRole } from './monitor.js';
export { repeatedKey } from './repeated-key.js';
export { createRandom, deriveSeed } from './random.js';
export type {
  Agreement,
  AwaitedRun,
  BatchContents,
  CompleteBatch,
  Delivery,
  DeliveryProbe,
  ExplorePlan,
  LeasedTask,
  MemberInfo,
  MemberRole,
  Membership,
  MemberState,
  MemberView,
  PlannedBatch,
  PlannedTask,
  PublishedWeights,
  RewardReceipt,
  RunEnd,
  RunStore,
  RunView,
  TaskResult,
  TrainRecord,
  Wait,
  WeightFile,
} from './run-store.js';
export { eachRow, inTransaction } from './sqlite.js';
export type { DueGroup, LateRewards, PendingGroup, PendingRun } from './late-rewards.js';
export { returnedBy, type Returned } from './returned.js';
export { readExperience } from './returned-experience.js';
export { isUsableReward, usableReward } from './reward.js';
export { type LogLevel, silentLogger, sleep, systemClock } from './runtime.js';
export { isSecretName, knowSecret, knowSecretsOf, redactText, redacted } from './secrets.js';
export { beginWait, type WaitCause, waitingFor, type WaitLog } from './waits.js';
export { isProcessAlive } from './process-alive.js';
export { parseModelId, type ModelId } from './model-id.js';
export { createStoppableClock, type StoppableClock } from './stoppable-clock.js';
export { didYouMean, nearest } from './suggest.js';
export { type FormatArgs, type RolloutArgs, defaultFormatArgs, fieldOf } from './task.js';
export { type ExperienceShape, mergeCalls, spansOf } from './trajectory.js';
