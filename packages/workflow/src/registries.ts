/** Creates the registries of workflows and reward functions, with the built-in entries. */
import type { Task } from '@trinity-rft/core';
import {
  createRewardFn,
  modelsOfGrader,
  needsPython,
  rewardFnNames,
  type RewardDefinition,
} from './reward/index.js';
import { rewardsOfTruth } from './reward/create.js';
import {
  agentscopeReactArgs,
  agentscopeV0Args,
  runAgentscopeMath,
  runAgentscopeReact,
  runAgentscopeV0Math,
} from './built-in/react/agentscope-react-workflow.js';
import {
  defineWorkflow,
  type WorkflowClassOptions,
  type WorkflowFunctionOptions,
} from './definition/define.js';
import { OnPolicyDistillMathWorkflow } from './built-in/distill/on-policy-distill-math-workflow.js';
import {
  distillArgs,
  OnPolicyDistillWorkflow,
} from './built-in/distill/on-policy-distill-workflow.js';
import { judgeArgs } from './built-in/judge/judge-settings.js';
import {
  openaiJudgeArgs,
  readRubric,
  RubricJudgeOpenaiWorkflow,
  RubricJudgeWorkflow,
} from './built-in/judge/rubric-judge-workflow.js';
import { MathRulerWorkflow, RulerWorkflow } from './built-in/judge/ruler-workflow.js';
import { BotsMathBoxedWorkflow } from './built-in/math/bots-math-boxed-workflow.js';
import { boxedArgs, MathBoxedWorkflow } from './built-in/math/math-boxed-workflow.js';
import {
  checkMathEvalRow,
  mathEvalArgs,
  MathEvalWorkflow,
} from './built-in/math/math-eval-workflow.js';
import {
  MathTrainableRulerWorkflow,
  trainableRulerArgs,
} from './built-in/judge/trainable-ruler-workflow.js';
import { MathWorkflow } from './built-in/math/math-workflow.js';
import { reactArgs, reactWorkflow } from './built-in/react/react-workflow.js';
import { noArgs } from './built-in/task-args.js';
import { otherRewards, otherWorkflows } from './definition/other-names.js';
import { createRegistry, type Registry } from './definition/registry.js';
import {
  checkOpenaiRow,
  openaiGraderArgs,
  OpenaiGraderWorkflow,
} from './built-in/single-turn/openai-grader-workflow.js';
import { SimpleWorkflow } from './built-in/single-turn/simple-workflow.js';
import { checkToolCallRow, ToolCallWorkflow } from './built-in/single-turn/tool-call-workflow.js';
import type { WorkflowDefinition } from './definition/types.js';

const simple = {
  workflow: SimpleWorkflow,
  args: noArgs,
  needs: { prompt: true, truth: true, rewardFn: true },
} as const;

const prompt = { prompt: true } as const;
const rubric = { columns: ['rubric'], readRow: (task: Task) => void readRubric(task) };
const graded = { prompt: true, truth: true } as const;
/** Settings of `format` that are ignored by workflows whose rows contain whole conversations. */
const unread = ['systemPrompt', 'systemPromptKey', 'replyPrefix'] as const;
const agent = { ...graded, unread: ['replyPrefix'] } as const;
const judged = { prompt: true, auxiliaryModel: 'judge' } as const;
const taught = { prompt: true, auxiliaryModel: 'teacher' } as const;

/**
 * Built-in workflows, under their names in Trinity-RFT. The names of Trinity-RFT's asynchronous
 * variants are registered too, for the same workflows, because every workflow here is asynchronous.
 */
const builtIn: readonly WorkflowDefinition[] = [
  ...named(['simple_workflow', 'async_simple_workflow'], simple),
  ...named(['math_workflow', 'async_math_workflow'], {
    workflow: MathWorkflow,
    args: noArgs,
    needs: graded,
  }),
  ...named(['math_boxed_workflow', 'async_math_boxed_workflow'], {
    workflow: MathBoxedWorkflow,
    args: boxedArgs,
    needs: graded,
  }),
  ...named(['bots_math_boxed_workflow'], {
    workflow: BotsMathBoxedWorkflow,
    args: boxedArgs,
    needs: graded,
  }),
  // Rows of this workflow may have the problem under `question`.
  ...named(['math_eval_workflow', 'async_math_eval_workflow'], {
    workflow: MathEvalWorkflow,
    args: mathEvalArgs,
    needs: { truth: true, readRow: checkMathEvalRow },
  }),
  // Differs from simple_workflow only in the signature of Trinity-RFT's reward functions.
  ...named(['math_rm_workflow', 'async_math_rm_workflow'], simple),
  ...named(['tool_call_workflow', 'toolcall_workflow'], {
    workflow: ToolCallWorkflow,
    args: noArgs,
    needs: { columns: ['tools', 'conversations'], readRow: checkToolCallRow, unread },
  }),
  ...named(['openai_grader_workflow'], {
    workflow: OpenaiGraderWorkflow,
    args: openaiGraderArgs,
    needs: {
      columns: ['messages'],
      readRow: checkOpenaiRow,
      unread,
      models: (args) => modelsOfGrader(openaiGraderArgs.parse(args).grader),
      byArgs: (args) =>
        needsPython(openaiGraderArgs.parse(args).grader) ? { python: { modules: ['json'] } } : {},
    },
  }),
  reactWorkflow,
  ...named(['agentscope_react_workflow', 'as_react_workflow'], {
    run: runAgentscopeReact,
    args: agentscopeReactArgs,
    needs: agent,
  }),
  ...named(['agentscope_react_math_workflow'], {
    run: runAgentscopeMath,
    args: reactArgs,
    needs: agent,
  }),
  ...named(['agentscopev0_react_math_workflow', 'agentscope_reactv2_math_workflow'], {
    run: runAgentscopeV0Math,
    args: agentscopeV0Args,
    needs: agent,
  }),
  ...named(['rubric_judge_workflow'], {
    workflow: RubricJudgeWorkflow,
    args: judgeArgs,
    needs: { ...judged, ...rubric },
  }),
  ...named(['rubric_judge_openai_workflow'], {
    workflow: RubricJudgeOpenaiWorkflow,
    args: openaiJudgeArgs,
    needs: {
      ...prompt,
      ...rubric,
      byArgs: (args) => {
        const { judge_api_base_url_env: address, judge_api_key_env: key } =
          openaiJudgeArgs.parse(args);
        return { env: [address, key] };
      },
    },
  }),
  ...named(['ruler_workflow'], { workflow: RulerWorkflow, args: judgeArgs, needs: judged }),
  ...named(['math_ruler_workflow', 'async_math_ruler_workflow'], {
    workflow: MathRulerWorkflow,
    args: judgeArgs,
    needs: judged,
  }),
  ...named(['on_policy_distill_workflow'], {
    workflow: OnPolicyDistillWorkflow,
    args: distillArgs,
    needs: taught,
  }),
  ...named(['on_policy_distill_math_workflow'], {
    workflow: OnPolicyDistillMathWorkflow,
    args: distillArgs,
    needs: taught,
  }),
  ...named(['math_trainable_ruler_workflow'], {
    workflow: MathTrainableRulerWorkflow,
    args: trainableRulerArgs,
    needs: graded,
  }),
];

function named<Args>(
  names: readonly string[],
  what: Omit<WorkflowFunctionOptions<Args>, 'name'> | Omit<WorkflowClassOptions, 'name'>,
): readonly WorkflowDefinition[] {
  return names.map((name) => defineWorkflow<Args>({ name, ...what }));
}

/**
 * Creates a registry with the built-in workflows and those in `own`.
 * @param extend called with each built-in definition; returns the definition to register instead.
 * @default no change
 * @throws ConfigError for duplicate names
 */
export function createWorkflowRegistry(
  own: readonly WorkflowDefinition[] = [],
  extend: (builtIn: WorkflowDefinition) => WorkflowDefinition = (same) => same,
): Registry<WorkflowDefinition> {
  const registry = createRegistry<WorkflowDefinition>('workflow', otherWorkflows);
  for (const definition of [...builtIn.map(extend), ...own])
    registry.register(definition.name, definition);
  return registry;
}

/**
 * Creates a registry with the built-in reward functions and those in `own`.
 * @throws ConfigError for duplicate names
 */
export function createRewardRegistry(
  own: readonly RewardDefinition[] = [],
): Registry<RewardDefinition> {
  const registry = createRegistry<RewardDefinition>('reward function', otherRewards);
  for (const name of rewardFnNames) {
    registry.register(name, {
      kind: 'trinity-rft.reward',
      name,
      needsTruth: rewardsOfTruth.has(name),
      create: (args) => createRewardFn(name, args),
    });
  }
  for (const definition of own) registry.register(definition.name, definition);
  return registry;
}
