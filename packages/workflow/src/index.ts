export * from './definition/agent-endpoint.js';
export * from './scoring/agent-outcome.js';
export * from './auxiliary/find-auxiliary-model.js';
export * from './auxiliary/remote-model.js';
export * from './registries.js';
export * from './built-in/react/calculator.js';
export * from './built-in/arguments/chat-options.js';
export * from './definition/define.js';
export { OnPolicyDistillMathWorkflow } from './built-in/distill/on-policy-distill-math-workflow.js';
export { OnPolicyDistillWorkflow } from './built-in/distill/on-policy-distill-workflow.js';
export { askJudge, type JudgeQuestion, type Verdict } from './built-in/judge/ask-judge.js';
export * from './built-in/judge/parse-judge-reply.js';
export { RubricJudgeWorkflow } from './built-in/judge/rubric-judge-workflow.js';
export { MathRulerWorkflow, RulerWorkflow } from './built-in/judge/ruler-workflow.js';
export * from './built-in/math/math-workflow.js';
export * from './built-in/multi-turn/multi-turn-workflow.js';
export * from './built-in/multi-turn/reward-propagation-workflow.js';
export * from './built-in/multi-turn/step-wise-reward-workflow.js';
export {
  agentMetrics,
  builtInTools,
  reactWorkflow,
  runReactAgent,
  type ReactAgentOptions,
  type ReactAnswer,
} from './built-in/react/react-workflow.js';
export * from './definition/registry.js';
export * from './scoring/score-response.js';
export * from './scripted/scripted-model.js';
export * from './scripted/try-workflow.js';
export * from './built-in/single-turn/simple-workflow.js';
export * from './built-in/react/tool.js';
export * from './definition/types.js';
export * from './definition/workflow-class.js';
