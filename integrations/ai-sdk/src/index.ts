export { withDefaultProvider, type ResolveModel } from './default-provider.js';
export { aiSdkModel, type CreateProvider, type ModelOf, type ProviderSettings } from './model.js';
export { outcomeOf, type ModelFault } from './outcome.js';
export { aiSdkWorkflow, type AiSdkContext, type AiSdkWorkflowOptions } from './workflow.js';
