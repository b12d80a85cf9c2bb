export { finalText, type AgentOutput } from './final-text.js';
export { mastraModel, type MastraModel, type MastraModelOptions } from './model.js';
export { outcomeOf, type ModelFault } from './outcome.js';
export { mastraRunOptions, type MastraRunOptions } from './run-options.js';
export { mastraWorkflow, type MastraContext, type MastraWorkflowOptions } from './workflow.js';
