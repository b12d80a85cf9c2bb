/** `react_workflow`: the ReAct agent with tools; the reward function scores its answer. */
import { createRewardFn } from '@trinity-rft/reward';
import type { Metrics } from '@trinity-rft/core';
import { defineWorkflow } from '../../definition/define.js';
import { createRegistry, type Registry } from '../../definition/registry.js';
import type {
  WorkflowContext,
  WorkflowDefinition,
  WorkflowOutput,
} from '../../definition/types.js';
import { scoreResponse, type Score } from '../../scoring/score-response.js';
import { integerArg, invalidArg, requirePrompt } from '../task-args.js';
import { calculatorTool } from './calculator.js';
import { runReactAgent, type ReactAnswer } from './react-agent.js';
import type { Tool } from './tool.js';

/** Tools that `workflow_args.tools` can name. */
const builtInTools: Registry<Tool> = createRegistry('tool');
builtInTools.register('calculator', calculatorTool);

/** Defaults of the task's settings. */
export interface ReactDefaults {
  /** Names of tools. */
  readonly tools: readonly string[];
  readonly rewardFn: string;
  readonly systemPrompt?: string;
  readonly answerTool?: Tool;
}

/**
 * Runs the agent on a task and scores its answer. `workflow_args`: `tools` (names) and `max_turns`
 * (10).
 * @throws ConfigError for wrong arguments; TaskError when the row has no prompt; RewardError
 */
export async function answerTask(
  { task, model, rewardFn, signal }: WorkflowContext,
  defaults: ReactDefaults,
): Promise<{ readonly answer: ReactAnswer; readonly score: Score }> {
  const { tools = defaults.tools } = task.workflowArgs;
  if (!Array.isArray(tools)) throw invalidArg('tools', tools, 'a list of tool names');
  const answer = await runReactAgent(requirePrompt(task), {
    client: model.openaiClient(),
    model: model.modelPath,
    tools: tools.map((name) => builtInTools.get(String(name))),
    maxTurns: integerArg(task, 'max_turns', { min: 1, fallback: 10 }),
    systemPrompt: task.formatArgs.systemPrompt ?? defaults.systemPrompt,
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
  run: async (context): Promise<WorkflowOutput> => {
    const defaults = { tools: ['calculator'], rewardFn: 'math_reward' };
    const { answer, score } = await answerTask(context, defaults);
    return { reward: score.reward, metrics: { ...score.parts, ...agentMetrics(answer) } };
  },
});
