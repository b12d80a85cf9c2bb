import type { memoryRunStore as memory } from './run-store/open-run-store.js';

export { experienceJson } from './experience-json.js';
export { isTaskOperator } from './pipeline/definition/operator.js';
export { scoreColumns } from './pipeline/priority.js';
export {
  describeDropped,
  runTaskPipeline,
  type PipelineProgress,
  type PipelineResult,
  type PipelineStep,
  type Question,
} from './pipeline/run-pipeline.js';
export { taskOperatorTable, type TaskOperatorTable } from './pipeline/table.js';
export { copyUnused } from './store/copy-unused.js';
export { recordAnswers } from './store/evaluation-answers.js';
export { openedFile } from './store/opened-file.js';
export { checkRows } from './supervised/check-rows.js';
export { readText } from './supervised/row-fields.js';
export type { Environment } from './hub/hub-access.js';
export {
  describeHubModel,
  fetchHubModel,
  fetchModelShape,
  findCachedModel,
  type HubModelOptions,
} from './hub/hub-model.js';
export { byteSize } from './hub/fetch-file.js';
export { epochs, priorityReplay, type Reuse } from './store/reuse.js';
export { hasHadWriter, type ExperienceWriter, type FollowOptions } from './store/sqlite.js';
export type { StoreOwner } from './store/owner.js';

/**
 * Creates a run store in memory. Its SQL library is loaded only when this function is called,
 * because it consists of 255 modules.
 */
export const memoryRunStore: typeof memory = async (leaseClock) =>
  (await import('./run-store/open-run-store.js')).memoryRunStore(leaseClock);
