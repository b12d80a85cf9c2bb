export { readTasks, readTaskset } from './assembly/data/tasks.js';
export { setEnvironment, variablesOf } from './assembly/environment.js';
export { builtInEngine, engineTable } from './assembly/models/engines.js';
export {
  openFrozenModel,
  openFrozenModels,
  startWeights,
  trainableModel,
  type FrozenStage,
} from './assembly/models/frozen-models.js';
export { withFetchedModels } from './assembly/models/hub-models.js';
export { resolveModelFolder } from './assembly/models/model-folder.js';
export { modelFactory } from './assembly/models/rollout-model.js';
export { assertNeeds } from './assembly/needs.js';
export { rewardFnFinder } from './assembly/reward-functions.js';
export { loadExtensions } from './run/configuration.js';
export { catchStrayErrors } from './run/failure.js';
export { solveTasks } from './worlds/demonstrations.js';
export { listEnvironments, openWorld } from './worlds/open-world.js';
