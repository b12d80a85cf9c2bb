export * from './agent-endpoint.js';
export * from './agent-outcome.js';
export * from './auxiliary/find.js';
export * from './auxiliary/remote-model.js';
export * from './built-in.js';
export * from './calculator.js';
export * from './chat-options.js';
export * from './define.js';
export { OnPolicyDistillMathWorkflow } from './distill/on-policy-distill-math-workflow.js';
export { OnPolicyDistillWorkflow } from './distill/on-policy-distill-workflow.js';
export { askJudge, type JudgeQuestion, type Verdict } from './judge/ask-judge.js';
export * from './judge/parse.js';
export { RubricJudgeWorkflow } from './judge/rubric-judge-workflow.js';
export { MathRulerWorkflow, RulerWorkflow } from './judge/ruler-workflow.js';
export * from './math-workflow.js';
export * from './multi-turn/multi-turn-workflow.js';
export * from './multi-turn/reward-propagation-workflow.js';
export * from './multi-turn/step-wise-reward-workflow.js';
export {
  agentMetrics,
  builtInTools,
  reactWorkflow,
  runReactAgent,
  type ReactAgentOptions,
  type ReactAnswer,
} from './react-workflow.js';
export * from './registry.js';
export * from './rewards.js';
export * from './scripted/scripted-model.js';
export * from './scripted/try-workflow.js';
export * from './simple-workflow.js';
export * from './tool.js';
export * from './types.js';
export * from './workflow.js';
