/**
 * `agentscope_react_workflow` and its variants: workflows of AgentScope, with the ReAct agent of
 * this package. The agent gives its answer by calling a tool, like AgentScope's agent, or as text,
 * like the agent of AgentScope 0.
 */
import { WorkflowError } from '@trinity-rft/core';
import { z } from 'zod';
import type { WorkflowContext, WorkflowOutput } from '../../definition/types.js';
import { agentMetrics, answerTask, reactArgs, type ReactDefaults } from './react-workflow.js';
import { count } from '../task-args.js';
import type { Tool } from './tool.js';

const systemPrompt = `You are an agent that solves math problems step by step. When you know the answer, call generate_response
with the final answer inside \\boxed{} as its result.`;

const textPrompt =
  'You are an agent that solves math problems step by step, with tools. Give the final answer inside \\boxed{}.';

/**
 * Tool by which the agent gives its answer, with the name and the argument of AgentScope's tool.
 */
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
    // The model reads the message of this error, and may call the tool again.
    throw new WorkflowError(`result is ${JSON.stringify(result)}; expected text.`, {
      code: 'ANSWER_INVALID',
    });
  },
};

export const agentscopeReactArgs = reactArgs.extend({
  type: z.literal('gsm8k', 'expected "gsm8k"').default('gsm8k'),
});

/**
 * Runs the agent, by default without tools other than `generate_response`. The default reward
 * function is `math_boxed_reward`.
 */
export const runAgentscopeReact = (
  context: WorkflowContext,
  args: z.output<typeof agentscopeReactArgs>,
): Promise<WorkflowOutput> => answered(context, args, { ...boxed, systemPrompt });

/**
 * Runs the agent with a calculator. In Trinity-RFT's workflow, the tool executes Python instead.
 */
export const runAgentscopeMath = (
  context: WorkflowContext,
  args: z.output<typeof reactArgs>,
): Promise<WorkflowOutput> =>
  answered(context, args, { ...boxed, systemPrompt, tools: ['calculator'] });

export const agentscopeV0Args = reactArgs.extend({ max_turns: count().default(5) });

/**
 * Runs an agent that gives its answer as text instead of calling a tool, like the agents of
 * AgentScope 0.
 */
export const runAgentscopeV0Math = (
  context: WorkflowContext,
  args: z.output<typeof agentscopeV0Args>,
): Promise<WorkflowOutput> =>
  answered(context, args, {
    ...boxed,
    tools: ['calculator'],
    systemPrompt: textPrompt,
    answerTool: undefined,
  });

const boxed = {
  tools: [],
  rewardFn: 'math_boxed_reward',
  answerTool: generateResponse,
} as const satisfies ReactDefaults;

async function answered(
  context: WorkflowContext,
  args: z.output<typeof reactArgs>,
  defaults: ReactDefaults,
): Promise<WorkflowOutput> {
  const { answer, score } = await answerTask(context, args, defaults);
  return {
    reward: score.reward,
    metrics: {
      ...score.parts,
      ...agentMetrics(answer),
      react_memory_length: answer.memoryLength,
    },
  };
}
