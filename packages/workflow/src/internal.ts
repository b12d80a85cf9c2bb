/** What our own packages share; no promise of stability. */
export { createRemoteModel } from './auxiliary/remote-model.js';
export { judgeLimits } from './built-in/judge/judge-settings.js';
export { chatOptions, count, positive } from './built-in/task-args.js';
export { type EndpointAddress, createAgentEndpoint } from './definition/agent-endpoint.js';
export { isRewardDefinition, isWorkflowDefinition } from './definition/define.js';
export { createOpenAIClient } from './definition/openai-client.js';
export type { Registry } from './definition/registry.js';
export { createRewardRegistry, createWorkflowRegistry } from './registries.js';
export { workflowContext } from './scripted/try-workflow.js';
export { sharedMathChecker } from './reward/checker/checker.js';
export { pythonValue } from './reward/math/python-expression.js';
export { overlongPenalty } from './reward/rewards/shared/overlong.js';
export { rewardsOfTruth } from './reward/create.js';
