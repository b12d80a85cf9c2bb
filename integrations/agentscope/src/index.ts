export { textOf, type Message, type OutputBlock } from './message.js';
export {
  agentscopeModel,
  type AgentscopeModelOptions,
  type AgentscopeModelSettings,
} from './model-options.js';
export { turnFormatter, type InnerFormatter, type TurnFormatter } from './turn-formatter.js';
export {
  agentscopeWorkflow,
  type AgentscopeContext,
  type AgentscopeWorkflowOptions,
  type Reply,
} from './workflow.js';
