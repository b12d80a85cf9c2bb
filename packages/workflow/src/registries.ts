/** The registries of workflows and reward functions, with the built-in ones. */
import { createRewardFn, rewardFnNames } from '@trinity-rft/reward';
import { runAgentscopeReact } from './built-in/react/agentscope-react-workflow.js';
import {
  defineWorkflow,
  type WorkflowClassOptions,
  type WorkflowFunctionOptions,
} from './definition/define.js';
import { OnPolicyDistillMathWorkflow } from './built-in/distill/on-policy-distill-math-workflow.js';
import { OnPolicyDistillWorkflow } from './built-in/distill/on-policy-distill-workflow.js';
import {
  RubricJudgeOpenaiWorkflow,
  RubricJudgeWorkflow,
} from './built-in/judge/rubric-judge-workflow.js';
import { MathRulerWorkflow, RulerWorkflow } from './built-in/judge/ruler-workflow.js';
import { MathBoxedWorkflow } from './built-in/math/math-boxed-workflow.js';
import { MathEvalWorkflow } from './built-in/math/math-eval-workflow.js';
import { MathTrainableRulerWorkflow } from './built-in/judge/trainable-ruler-workflow.js';
import { MathWorkflow } from './built-in/math/math-workflow.js';
import { reactWorkflow } from './built-in/react/react-workflow.js';
import { createRegistry, type Registry } from './definition/registry.js';
import { SimpleWorkflow } from './built-in/single-turn/simple-workflow.js';
import { ToolCallWorkflow } from './built-in/single-turn/tool-call-workflow.js';
import type { RewardDefinition, WorkflowDefinition } from './definition/types.js';

/**
 * Trinity-RFT's names. Its asynchronous variants are synonyms, because every workflow is
 * asynchronous.
 */
const builtIn: readonly WorkflowDefinition[] = [
  ...named(['simple_workflow', 'async_simple_workflow'], { workflow: SimpleWorkflow }),
  ...named(['math_workflow', 'async_math_workflow'], { workflow: MathWorkflow }),
  ...named(['math_boxed_workflow', 'async_math_boxed_workflow'], { workflow: MathBoxedWorkflow }),
  ...named(['math_eval_workflow', 'async_math_eval_workflow'], { workflow: MathEvalWorkflow }),
  // Differs from simple_workflow only in the signature of Trinity-RFT's reward functions.
  ...named(['math_rm_workflow', 'async_math_rm_workflow'], { workflow: SimpleWorkflow }),
  ...named(['tool_call_workflow', 'toolcall_workflow'], { workflow: ToolCallWorkflow }),
  reactWorkflow,
  ...named(['agentscope_react_workflow', 'as_react_workflow'], { run: runAgentscopeReact }),
  ...named(['rubric_judge_workflow'], { workflow: RubricJudgeWorkflow }),
  ...named(['rubric_judge_openai_workflow'], { workflow: RubricJudgeOpenaiWorkflow }),
  ...named(['ruler_workflow'], { workflow: RulerWorkflow }),
  ...named(['math_ruler_workflow', 'async_math_ruler_workflow'], { workflow: MathRulerWorkflow }),
  ...named(['on_policy_distill_workflow'], { workflow: OnPolicyDistillWorkflow }),
  ...named(['on_policy_distill_math_workflow'], { workflow: OnPolicyDistillMathWorkflow }),
  ...named(['math_trainable_ruler_workflow'], { workflow: MathTrainableRulerWorkflow }),
];

function named(
  names: readonly string[],
  what: Omit<WorkflowFunctionOptions, 'name'> | Omit<WorkflowClassOptions, 'name'>,
): readonly WorkflowDefinition[] {
  return names.map((name) => defineWorkflow({ name, ...what }));
}

/** The built-in workflows and those of a run. @throws ConfigError for duplicate names */
export function createWorkflowRegistry(
  own: readonly WorkflowDefinition[] = [],
): Registry<WorkflowDefinition> {
  const registry = createRegistry<WorkflowDefinition>('workflow');
  for (const definition of [...builtIn, ...own]) registry.register(definition.name, definition);
  return registry;
}

/** The built-in reward functions and those of a run. @throws ConfigError for duplicate names */
export function createRewardRegistry(
  own: readonly RewardDefinition[] = [],
): Registry<RewardDefinition> {
  const registry = createRegistry<RewardDefinition>('reward function');
  for (const name of rewardFnNames) {
    registry.register(name, {
      kind: 'trinity-rft.reward',
      name,
      create: (args) => createRewardFn(name, args),
    });
  }
  for (const definition of own) registry.register(definition.name, definition);
  return registry;
}
