export {
  scoreRun,
  sqliteLateRewards,
  waitingRuns,
  type LateRewardOptions,
} from './late/late-rewards.js';
export {
  defineTaskOperator,
  type AskOptions,
  type TaskFunction,
  type TaskOperator,
  type TaskOperatorContext,
  type TaskOperatorDefinition,
  type TaskOperatorOptions,
  type TaskVerdict,
} from './pipeline/definition/operator.js';
export { mixedExperienceSource, type MixedSourceOptions } from './mix/mixed-experience-source.js';
export { storedRows, type StoredRows } from './mix/stored-rows.js';
export type { LeaseStoreOptions } from './store/lease-store.js';
export { memoryExperienceStore } from './store/memory.js';
export {
  epochs,
  priorityReplay,
  type EpochsOptions,
  type PriorityArgs,
  type PriorityReplayOptions,
  type Reuse,
} from './store/reuse.js';
export {
  readExperiences,
  type ExperienceReader,
  type ExperienceRow,
} from './store/read-experiences.js';
export type { ExperienceHead, IdOrder } from './store/read-heads.js';
export type { ExperienceUse } from './store/read-uses.js';
export {
  sqliteExperienceStore,
  hasHadWriter,
  sqliteExperienceWriter,
  type ExperienceWriter,
  type FollowOptions,
  type SqliteExperienceStoreOptions,
} from './store/sqlite.js';
export type { StoreOwner } from './store/owner.js';
export {
  fileExperienceSource,
  type FileExperienceSourceOptions,
} from './supervised/file-experience-source.js';
export {
  isDatabase,
  readPairTable,
  writePairTable,
  type PairTable,
} from './supervised/pair-table.js';
export {
  answerPairs,
  chosenRows,
  type AnswerPair,
  type AnswerPairsOptions,
  type ChosenRow,
} from './supervised/preference-pairs.js';
export {
  readPreferenceRow,
  type PreferenceFormat,
  type PreferenceRow,
} from './supervised/read-preference-row.js';
export {
  readSupervisedRow,
  type SupervisedFormat,
  type SupervisedRow,
} from './supervised/read-supervised-row.js';
export {
  openTaskSource,
  readTaskRows,
  type TaskRowsOptions,
  type TaskSourceOptions,
} from './tasks/open-task-source.js';
export type { DifficultyArgs } from './tasks/difficulty.js';
export type { SelectorOptions, SelectorType } from './tasks/selector.js';
export {
  createTasksetScheduler,
  type ScheduledRow,
  type TasksetScheduler,
  type TasksetSchedulerOptions,
} from './tasks/scheduler.js';
export { createTaskSource, type TaskOrderOptions } from './tasks/task-source.js';
