export { defineTaskOperator, type TaskOperatorDefinition } from './pipeline/definition/operator.js';
export { mixedExperienceSource } from './mix/mixed-experience-source.js';
export { storedRows } from './mix/stored-rows.js';
export { memoryExperienceStore } from './store/memory.js';
export {
  readExperiences,
  withReader,
  type ExperienceReader,
  type ExperienceRow,
} from './store/read-experiences.js';
export type { ExperienceHead } from './store/read-heads.js';
export type { ExperienceUse } from './store/read-uses.js';
export { sqliteExperienceStore, sqliteExperienceWriter } from './store/sqlite.js';
export { fileExperienceSource } from './supervised/file-experience-source.js';
export { readPreferenceRow } from './supervised/read-preference-row.js';
export { readSupervisedRow } from './supervised/read-supervised-row.js';
export { openTaskSource, readTaskRows } from './tasks/open-task-source.js';
export { createTasksetScheduler } from './tasks/scheduler.js';
export { createTaskSource } from './tasks/task-source.js';
