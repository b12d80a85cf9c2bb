/** `react_workflow`: reason, act with tools, observe, answer; a loop over the OpenAI client. */
import { ConfigError, taskPrompt, type Metrics } from '@trinity-rft/core';
import { createRewardFn } from '@trinity-rft/reward';
import type OpenAI from 'openai';
import { calculatorTool } from './calculator.js';
import { defineWorkflow } from './define.js';
import { createRegistry, type Registry } from './registry.js';
import { scoreResponse } from './rewards.js';
import { missingPrompt } from './simple-workflow.js';
import { callTool, type Tool } from './tool.js';
import type { WorkflowContext, WorkflowDefinition, WorkflowOutput } from './types.js';

export interface ReactAgentOptions {
  readonly client: OpenAI;
  readonly model: string;
  readonly tools: readonly Tool[];
  readonly maxTurns: number;
  readonly systemPrompt?: string;
  readonly signal?: AbortSignal;
}

export interface ReactAnswer {
  readonly text: string;
  readonly turns: number;
  readonly toolCalls: number;
  readonly toolErrors: number;
  /** The agent was still calling tools when its turns ran out. */
  readonly outOfTurns: boolean;
}

/** Asks until the model answers without calling a tool, at most `maxTurns` times. Knows nothing of training. */
export async function runReactAgent(question: string, options: ReactAgentOptions): Promise<ReactAnswer> {
  const { client, tools, maxTurns } = options;
  const messages: OpenAI.ChatCompletionMessageParam[] = [
    ...(options.systemPrompt === undefined ? [] : [{ role: 'system', content: options.systemPrompt } as const]),
    { role: 'user', content: question },
  ];
  let toolCalls = 0;
  let toolErrors = 0;
  let text = '';
  for (let turn = 1; turn <= maxTurns; turn++) {
    const completion = await client.chat.completions.create(
      { model: options.model, messages, tools: tools.map((tool) => tool.definition as OpenAI.ChatCompletionTool) },
      { signal: options.signal ?? null },
    );
    const message = completion.choices[0]!.message;
    text = message.content ?? '';
    const calls = (message.tool_calls ?? []).filter((call) => call.type === 'function');
    if (calls.length === 0) return { text, turns: turn, toolCalls, toolErrors, outOfTurns: false };
    messages.push(message);
    for (const call of calls) {
      const outcome = await callTool(tools, call.function.name, call.function.arguments);
      toolCalls++;
      if (!outcome.ok) toolErrors++;
      messages.push({ role: 'tool', tool_call_id: call.id, content: outcome.text });
    }
  }
  return { text, turns: maxTurns, toolCalls, toolErrors, outOfTurns: true };
}

/** Tools that `workflow_args.tools` can name. */
export const builtInTools: Registry<Tool> = createRegistry('tool');
builtInTools.register('calculator', calculatorTool);

interface ReactArgs {
  readonly tools: readonly Tool[];
  readonly maxTurns: number;
}

/** Reads `workflow_args`: `tools` (names, default calculator) and `max_turns` (default 10). */
function readArgs({ task }: WorkflowContext): ReactArgs {
  const { tools = ['calculator'], max_turns: maxTurns = 10 } = task.workflowArgs;
  if (!Array.isArray(tools))
    throw new ConfigError(`workflow_args.tools is ${JSON.stringify(tools)}; expected a list of tool names.`, { code: 'WORKFLOW_ARGS' });
  if (typeof maxTurns !== 'number' || !Number.isInteger(maxTurns) || maxTurns < 1) {
    throw new ConfigError(`workflow_args.max_turns is ${JSON.stringify(maxTurns)}; expected an integer of at least 1.`, {
      code: 'WORKFLOW_ARGS',
    });
  }
  return { tools: tools.map((name) => builtInTools.get(String(name))), maxTurns };
}

async function run(context: WorkflowContext): Promise<WorkflowOutput> {
  const { task, model, signal } = context;
  const question = taskPrompt(task);
  if (question === undefined) throw missingPrompt(task);
  const { systemPrompt } = task.formatArgs;
  const answer = await runReactAgent(question, {
    ...readArgs(context),
    client: model.openaiClient(),
    model: model.modelPath,
    signal,
    ...(systemPrompt !== undefined && { systemPrompt }),
  });
  const { reward, parts } = await scoreResponse(context.rewardFn ?? createRewardFn('math_reward', {}), task, answer.text);
  return { reward, metrics: { ...parts, ...agentMetrics(answer) } };
}

/** Numbers about one run of an agent. */
export function agentMetrics(answer: ReactAnswer): Metrics {
  return { turns: answer.turns, tool_calls: answer.toolCalls, tool_errors: answer.toolErrors, out_of_turns: answer.outOfTurns ? 1 : 0 };
}

export const reactWorkflow: WorkflowDefinition = defineWorkflow({ name: 'react_workflow', run });
