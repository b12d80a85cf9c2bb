/** Exports for packages of this repository only. They may change without notice. */
export { type EndpointAddress, createAgentEndpoint } from './definition/agent-endpoint.js';
export { PartialGroupError } from './definition/partial-group-error.js';
export { isRewardDefinition, isWorkflowDefinition } from './definition/define.js';
export { createOpenAIClient } from './definition/openai-client.js';
export type { Registry } from './definition/registry.js';
export { createRewardRegistry, createWorkflowRegistry } from './registries.js';
export { workflowContext } from './scripted/try-workflow.js';
export { sharedMathChecker } from './reward/checker/checker.js';
export { overlongPenalty } from './reward/rewards/shared/overlong.js';
export { rewardFnName } from './scoring/score-response.js';
