/** `react_workflow`: the ReAct agent with tools. The reward function scores the agent's answer. */
import { createRewardFn } from '../../reward/index.js';
import { taskSystemPrompt, type Metrics } from '@trinity-rft/core';
import { z } from 'zod';
import { defineWorkflow } from '../../definition/define.js';
import type {
  WorkflowContext,
  WorkflowDefinition,
  WorkflowOutput,
} from '../../definition/types.js';
import { scoreResponse, type Score } from '../../scoring/score-response.js';
import { requirePrompt } from '../../definition/require-prompt.js';
import { count } from '../task-args.js';
import { calculatorTool } from './calculator.js';
import { runReactAgent, type ReactAnswer } from './react-agent.js';
import type { Tool } from './tool.js';

/** Tools by their name in `workflow_args.tools`. */
const builtInTools = { calculator: calculatorTool } as const satisfies Record<string, Tool>;

type ToolName = keyof typeof builtInTools;

const toolNames = Object.keys(builtInTools) as [ToolName, ...ToolName[]];

/**
 * Schema of `workflow_args`. `tools`: names of the agent's tools. `max_turns`: maximum number of
 * model calls per rollout.
 */
export const reactArgs = z.strictObject({
  tools: z
    .array(
      z.enum(toolNames, `expected the name of a tool: ${toolNames.join(', ')}`),
      'expected a list of tool names',
    )
    .optional(),
  max_turns: count().default(10),
});

/** Settings of the agent that apply if `workflow_args` or the task do not set them. */
export interface ReactDefaults {
  /** Names of tools. */
  readonly tools: readonly ToolName[];
  readonly rewardFn: string;
  readonly systemPrompt?: string;
  readonly answerTool?: Tool;
}

/**
 * Runs the agent on a task, and scores its answer.
 * @throws TaskError if the row has no prompt; RewardError if the answer cannot be scored
 */
export async function answerTask(
  { task, model, rewardFn, signal }: WorkflowContext,
  { tools, max_turns: maxTurns }: z.output<typeof reactArgs>,
  defaults: ReactDefaults,
): Promise<{ readonly answer: ReactAnswer; readonly score: Score }> {
  const answer = await runReactAgent(requirePrompt(task), {
    client: model.openaiClient(),
    model: model.modelPath,
    tools: (tools ?? defaults.tools).map((name) => builtInTools[name]),
    maxTurns,
    systemPrompt: taskSystemPrompt(task) ?? defaults.systemPrompt,
    answerTool: defaults.answerTool,
    signal,
  });
  const scorer = rewardFn ?? createRewardFn(defaults.rewardFn, {});
  return { answer, score: await scoreResponse(scorer, task, answer.text) };
}

export const agentMetrics = (answer: ReactAnswer): Metrics => ({
  turns: answer.turns,
  tool_calls: answer.toolCalls,
  tool_errors: answer.toolErrors,
  out_of_turns: answer.outOfTurns ? 1 : 0,
});

export const reactWorkflow: WorkflowDefinition = defineWorkflow({
  name: 'react_workflow',
  args: reactArgs,
  needs: { prompt: true, truth: true, unread: ['replyPrefix'] },
  run: async (context, args): Promise<WorkflowOutput> => {
    const defaults = { tools: ['calculator'], rewardFn: 'math_reward' } as const;
    const { answer, score } = await answerTask(context, args, defaults);
    return { reward: score.reward, metrics: { ...score.parts, ...agentMetrics(answer) } };
  },
});
