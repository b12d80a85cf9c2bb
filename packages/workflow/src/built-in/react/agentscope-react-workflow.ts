/**
 * `agentscope_react_workflow`: AgentScope's ReAct agent, which answers through a tool, on the ReAct
 * loop of this package.
 */
import { taskPrompt, WorkflowError } from '@trinity-rft/core';
import { createRewardFn } from '@trinity-rft/reward';
import { agentMetrics, readReactArgs, runReactAgent } from './react-workflow.js';
import { scoreResponse } from '../../scoring/score-response.js';
import { missingPrompt } from '../single-turn/simple-workflow.js';
import type { Tool } from './tool.js';
import type { WorkflowContext, WorkflowOutput } from '../../definition/types.js';
import { wrongArg } from '../arguments/workflow-args.js';

const systemPrompt = `You are an agent that solves math problems step by step. When you know the answer, call generate_response
with the final answer inside \\boxed{} as its result.`;

/** The name and the field that AgentScope's agent has for its structured answer. */
const generateResponse: Tool = {
  definition: {
    type: 'function',
    function: {
      name: 'generate_response',
      description: 'Give the final answer and end the task.',
      parameters: {
        type: 'object',
        properties: { result: { type: 'string', description: 'The final answer.' } },
        required: ['result'],
      },
    },
  },
  call: ({ result }) => {
    if (typeof result === 'string' || typeof result === 'number') return String(result);
    // Told to the model, which may call again.
    throw new WorkflowError(`result is ${JSON.stringify(result)}; expected text.`, {
      code: 'ANSWER_INVALID',
    });
  },
};

/**
 * `workflow_args`: `type` (only `gsm8k`), `tools` (none), `max_turns` (10). The reward is
 * `math_boxed_reward` of the result unless one is named.
 */
export async function runAgentscopeReact(context: WorkflowContext): Promise<WorkflowOutput> {
  const { task, model, signal } = context;
  const { type = 'gsm8k' } = task.workflowArgs;
  if (type !== 'gsm8k') throw wrongArg('type', type, '"gsm8k"');
  const question = taskPrompt(task);
  if (question === undefined) throw missingPrompt(task);
  const answer = await runReactAgent(question, {
    ...readReactArgs(context, []),
    client: model.openaiClient(),
    model: model.modelPath,
    answerTool: generateResponse,
    systemPrompt: task.formatArgs.systemPrompt ?? systemPrompt,
    signal,
  });
  const { reward, parts } = await scoreResponse(
    context.rewardFn ?? createRewardFn('math_boxed_reward', {}),
    task,
    answer.text,
  );
  return {
    reward,
    metrics: { ...parts, ...agentMetrics(answer), react_memory_length: answer.memoryLength },
  };
}
