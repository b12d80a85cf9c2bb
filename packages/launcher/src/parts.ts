export { readTasks, readTaskset } from './assembly/data/tasks.js';
export { setEnvironment } from './assembly/environment.js';
export { openAuxiliaryModels, type AuxiliaryModels } from './assembly/models/auxiliary-models.js';
export { openChatFormat } from './assembly/models/chat-format.js';
export { openEndpoint } from './assembly/models/endpoint.js';
export { openFrozenEngine } from './assembly/models/engine.js';
export { builtInEngine, engineNamed, engineTable } from './assembly/models/engines.js';
export { withCachedModels, withFetchedModels } from './assembly/models/hub-models.js';
export {
  explainFolderErrors,
  modelOfStage,
  resolveModelFolder,
  startModelOf,
  startQuantization,
} from './assembly/models/model-folder.js';
export { modelSettings } from './assembly/models/model-settings.js';
export { modelFactory, type RecordedAttempt } from './assembly/models/rollout-model.js';
export { assertNeeds } from './assembly/needs.js';
export { rewardFnFinder } from './assembly/reward-functions.js';
export { openTogether } from './context/disposable.js';
export type { EvaluatedCheckpoint, Extensions } from './context/stage-context.js';
export { openStageStore } from './modes/apart/open-store.js';
export { loadExtensions, timestamp } from './run/configuration.js';
export { catchStrayErrors } from './run/failure.js';
export { solveTasks } from './worlds/demonstrations.js';
export {
  findEnvironment,
  listEnvironments,
  openWorld,
  type OpenWorld,
  type WorldOptions,
} from './worlds/open-world.js';
