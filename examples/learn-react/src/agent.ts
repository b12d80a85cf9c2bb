/** The agent, its tools, and the reward of its answers. */
import { createOpenAI } from '@ai-sdk/openai';
import { aiSdkModel } from '@trinity-rft/ai-sdk';
import type { ModelAdapter, WorkflowInput } from '@trinity-rft/tuner';
import { hasToolCall, isStepCount, tool, ToolLoopAgent, type LanguageModel } from 'ai';
import { z } from 'zod';

/** A row of the data set. */
export interface Problem {
  readonly question: string;
  readonly answer: string;
}

export const instructions = 'You are a helpful math problem solving agent.';

/** Tool for the structured answer: as in AgentScope, calling it ends the task. */
const generateResponse = tool({
  description: 'Gives the final answer and ends the task.',
  inputSchema: z.object({ result: z.string().describe('Final answer to the math problem.') }),
  execute: ({ result }) => result,
});

const calculator = tool({
  description: 'Multiplies two whole numbers.',
  inputSchema: z.object({ expression: z.string().describe('for example 12*34') }),
  execute: ({ expression }) => multiply(expression),
});

export function multiply(expression: string): string {
  const factors = /^(\d+)\*(\d+)$/.exec(expression);
  return factors ? String(Number(factors[1]) * Number(factors[2])) : 'error';
}

/** Reward: 1.0 for an exact match, else 0.0. */
export const calculateReward = (answer: string, truth: string): number =>
  answer.trim() === truth.trim() ? 1 : 0;

/** The model of a run as a model object of the AI SDK. */
export const aiSdk: ModelAdapter<LanguageModel> = (endpoint) => aiSdkModel(endpoint, createOpenAI);

/** Returns the reward of one run; 0 without a structured answer after three steps. */
export async function reactAgentWorkflow({
  task,
  model,
  signal,
}: WorkflowInput<Problem, LanguageModel>): Promise<number> {
  const agent = new ToolLoopAgent({
    model,
    instructions,
    tools: { calculator, generate_response: generateResponse },
    stopWhen: [isStepCount(3), hasToolCall('generate_response')],
  });
  const { toolResults } = await agent.generate({ prompt: task.question, abortSignal: signal });
  const answer = toolResults.find(({ toolName }) => toolName === 'generate_response')?.output;
  return typeof answer === 'string' ? calculateReward(answer, task.answer) : 0;
}
