/** `react_workflow`: reason, act with tools, observe, answer; a loop over the OpenAI client. */
import { taskPrompt, type Metrics } from '@trinity-rft/core';
import { createRewardFn } from '@trinity-rft/reward';
import type OpenAI from 'openai';
import { calculatorTool } from './calculator.js';
import { defineWorkflow } from '../../definition/define.js';
import { createRegistry, type Registry } from '../../definition/registry.js';
import { scoreResponse } from '../../scoring/score-response.js';
import { missingPrompt } from '../single-turn/simple-workflow.js';
import { callTool, type Tool } from './tool.js';
import type {
  WorkflowContext,
  WorkflowDefinition,
  WorkflowOutput,
} from '../../definition/types.js';
import { integerArg, wrongArg } from '../arguments/workflow-args.js';

export interface ReactAgentOptions {
  readonly client: OpenAI;
  readonly model: string;
  readonly tools: readonly Tool[];
  readonly maxTurns: number;
  readonly systemPrompt?: string;
  /**
   * The agent answers by calling this tool; what it returns is the answer.
   * @default it answers in plain text
   */
  readonly answerTool?: Tool;
  readonly signal?: AbortSignal;
}

export interface ReactAnswer {
  readonly text: string;
  readonly turns: number;
  readonly toolCalls: number;
  readonly toolErrors: number;
  /** The agent was still calling tools when its turns ran out. */
  readonly outOfTurns: boolean;
  /** Messages of the conversation, the last answer included. */
  readonly memoryLength: number;
}

/**
 * Asks until the model answers without calling a tool (or with `answerTool`), at most `maxTurns`
 * times. Knows nothing of training.
 */
export async function runReactAgent(
  question: string,
  options: ReactAgentOptions,
): Promise<ReactAnswer> {
  const { client, maxTurns, answerTool } = options;
  const tools = answerTool ? [...options.tools, answerTool] : options.tools;
  const messages: OpenAI.ChatCompletionMessageParam[] = [
    ...(options.systemPrompt === undefined
      ? []
      : [{ role: 'system', content: options.systemPrompt } as const]),
    { role: 'user', content: question },
  ];
  let toolCalls = 0;
  let toolErrors = 0;
  let text = '';
  for (let turn = 1; turn <= maxTurns; turn++) {
    const completion = await client.chat.completions.create(
      {
        model: options.model,
        messages,
        ...(tools.length > 0 && {
          tools: tools.map((tool) => tool.definition as OpenAI.ChatCompletionTool),
        }),
      },
      { signal: options.signal ?? null },
    );
    const message = completion.choices[0]!.message;
    text = message.content ?? '';
    const calls = (message.tool_calls ?? []).filter((call) => call.type === 'function');
    messages.push(message);
    const answered = { turns: turn, outOfTurns: false, memoryLength: messages.length };
    if (calls.length === 0) return { ...answered, text, toolCalls, toolErrors };
    for (const call of calls) {
      const outcome = await callTool(tools, call.function.name, call.function.arguments);
      toolCalls++;
      if (!outcome.ok) toolErrors++;
      else if (call.function.name === answerTool?.definition.function.name)
        return { ...answered, text: outcome.text, toolCalls, toolErrors };
      messages.push({ role: 'tool', tool_call_id: call.id, content: outcome.text });
    }
  }
  return {
    text,
    turns: maxTurns,
    toolCalls,
    toolErrors,
    outOfTurns: true,
    memoryLength: messages.length,
  };
}

/** Tools that `workflow_args.tools` can name. */
export const builtInTools: Registry<Tool> = createRegistry('tool');
builtInTools.register('calculator', calculatorTool);

export interface ReactArgs {
  readonly tools: readonly Tool[];
  readonly maxTurns: number;
}

/** Reads `workflow_args`: `tools` (names) and `max_turns` (default 10). @throws ConfigError */
export function readReactArgs(
  { task }: WorkflowContext,
  standardTools: readonly string[],
): ReactArgs {
  const { tools = standardTools } = task.workflowArgs;
  if (!Array.isArray(tools)) throw wrongArg('tools', tools, 'a list of tool names');
  return {
    tools: tools.map((name) => builtInTools.get(String(name))),
    maxTurns: integerArg(task, 'max_turns', { min: 1, standard: 10 }),
  };
}

async function run(context: WorkflowContext): Promise<WorkflowOutput> {
  const { task, model, signal } = context;
  const question = taskPrompt(task);
  if (question === undefined) throw missingPrompt(task);
  const { systemPrompt } = task.formatArgs;
  const answer = await runReactAgent(question, {
    ...readReactArgs(context, ['calculator']),
    client: model.openaiClient(),
    model: model.modelPath,
    signal,
    ...(systemPrompt !== undefined && { systemPrompt }),
  });
  const { reward, parts } = await scoreResponse(
    context.rewardFn ?? createRewardFn('math_reward', {}),
    task,
    answer.text,
  );
  return { reward, metrics: { ...parts, ...agentMetrics(answer) } };
}

/** Numbers about one run of an agent. */
export function agentMetrics(answer: ReactAnswer): Metrics {
  return {
    turns: answer.turns,
    tool_calls: answer.toolCalls,
    tool_errors: answer.toolErrors,
    out_of_turns: answer.outOfTurns ? 1 : 0,
  };
}

export const reactWorkflow: WorkflowDefinition = defineWorkflow({ name: 'react_workflow', run });
