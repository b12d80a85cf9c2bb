/** The agent as a workflow function, and its judge. */
import { Agent } from '@agentscope-ai/agentscope/agent';
import { getTextContent, UserMsg, type Msg } from '@agentscope-ai/agentscope/message';
import { OpenAIChatModel } from '@agentscope-ai/agentscope/model';
import {
  JudgeOutput,
  WorkflowOutput,
  type JudgeInput,
  type ModelAdapter,
  type WorkflowInput,
} from '@trinity-rft/tuner';

/** A row of the data set. */
export interface Problem {
  readonly question: string;
  readonly answer: string;
}

export const sysPrompt = 'You are a helpful math problem solving agent.';

/** The model of a run as a model object of AgentScope. */
export const agentscope: ModelAdapter<OpenAIChatModel> = (endpoint) =>
  new OpenAIChatModel(endpoint.agentscope());

/** Runs the agent. Unlike outside of training, gets model and task as arguments, and returns a WorkflowOutput. */
export async function runReactAgent({
  task,
  model,
}: WorkflowInput<Problem, OpenAIChatModel>): Promise<WorkflowOutput<Msg>> {
  const agent = new Agent({ name: 'react_agent', sysPrompt, model });
  const response = await agent.reply({ msgs: UserMsg({ name: 'user', content: task.question }) });
  return WorkflowOutput({ response });
}

/**
 * Scores 1 for the exact answer. If any answer that contains the number were right, the model would learn to write all
 * numbers.
 */
export async function judgeFunction({
  task,
  response,
}: JudgeInput<Problem, Msg, OpenAIChatModel>): Promise<JudgeOutput> {
  return JudgeOutput({ reward: getTextContent(response)?.trim() === task.answer ? 1 : 0 });
}
