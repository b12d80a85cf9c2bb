/** For the packages of this repository; may change in any release. */
export { createRemoteModel, type RemoteModelOptions } from './auxiliary/remote-model.js';
export { createAgentEndpoint, type EndpointAddress } from './definition/agent-endpoint.js';
export { isRewardDefinition, isWorkflowDefinition } from './definition/define.js';
export type { Registry } from './definition/registry.js';
export { createRewardRegistry, createWorkflowRegistry } from './registries.js';
export { workflowContext } from './scripted/try-workflow.js';
