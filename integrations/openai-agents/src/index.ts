export { openaiAgentsModel, type OpenAIAgentsApi } from './model.js';
export { outcomeOf, type ModelFault } from './outcome.js';
export { openaiAgentsRunner, type OpenAIAgentsRunnerOptions } from './runner.js';
export { withModel, type AgentToolMaker, type WithModelOptions } from './with-model.js';
export {
  openaiAgentsWorkflow,
  type OpenAIAgentsContext,
  type OpenAIAgentsWorkflowOptions,
} from './workflow.js';
