export type { AgentEndpoint } from './definition/agent-endpoint.js';
export { defineReward, type RewardDefinition } from './reward/index.js';
export {
  defineWorkflow,
  type AnyArgs,
  type WorkflowClassOptions,
  type WorkflowFunctionOptions,
} from './definition/define.js';
export type {
  AgentModel,
  Grader,
  GraderContext,
  WorkflowContext,
  WorkflowDefinition,
  WorkflowInstance,
  WorkflowNeeds,
  PendingOutput,
  WorkflowOutput,
  WorkflowResult,
} from './definition/types.js';
export type { ArgProblem, ArgsSchema } from '@trinity-rft/core';
export { Workflow, type RunScore, type WorkflowClass } from './definition/workflow-class.js';
export { SimpleWorkflow } from './built-in/single-turn/simple-workflow.js';
export { MultiTurnWorkflow } from './built-in/multi-turn/multi-turn-workflow.js';
export { RewardPropagationWorkflow } from './built-in/multi-turn/reward-propagation-workflow.js';
export { StepWiseRewardWorkflow } from './built-in/multi-turn/step-wise-reward-workflow.js';
export {
  agentOutcome,
  scoreAnswer,
  scoreOutcome,
  type AgentOutcome,
} from './scoring/agent-outcome.js';
export { agentWorkflow, type AgentContext, type AgentWorkflowOptions } from './agent-workflow.js';
export { scoreChoice, scoreResponse, type Score } from './scoring/score-response.js';
export { requirePrompt } from './definition/require-prompt.js';
export { auxiliaryModel } from './auxiliary/find-auxiliary-model.js';
export { askJudge, type JudgeQuestion, type Verdict } from './built-in/judge/ask-judge.js';
export { parseRating } from './built-in/judge/parse-judge-reply.js';
export {
  scriptedModel,
  type ScriptedAnswer,
  type ScriptedCall,
  type ScriptedModel,
  type ScriptedModelOptions,
  type ScriptedToolCall,
} from './scripted/scripted-model.js';
export { tryWorkflow, type TryOptions } from './scripted/try-workflow.js';
export { createRemoteModel } from './auxiliary/remote-model.js';
export { reportedTokens } from './auxiliary/reported-tokens.js';
export { judgeLimits } from './built-in/judge/judge-settings.js';
export { chatOptions, count, positive } from './built-in/task-args.js';
