export { langchainModel, type LangchainModelOptions } from './model.js';
export { outcomeOf, type ModelFault } from './outcome.js';
export {
  redirected,
  redirectModel,
  runConfig,
  runModel,
  type RunConfig,
  type RunConfigOptions,
} from './redirect.js';
export {
  langchainWorkflow,
  type LangchainContext,
  type LangchainWorkflowOptions,
} from './workflow.js';
