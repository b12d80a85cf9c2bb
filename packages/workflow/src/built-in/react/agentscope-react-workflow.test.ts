import { describe, expect, it } from 'vitest';
import { createWorkflowRegistry } from '../../registries.js';
import { scriptedModel, type ScriptedAnswer } from '../../scripted/scripted-model.js';
import { tryWorkflow } from '../../scripted/try-workflow.js';
import { calculatorTool } from './calculator.js';
import { runReactAgent } from './react-agent.js';

const run = async (answers: readonly ScriptedAnswer[], workflowArgs = {}) => {
  const model = scriptedModel({ answers });
  const rawTask = { prompt: 'What is 3 x 4?', response: '12' };
  return {
    model,
    result: await tryWorkflow(createWorkflowRegistry().get('as_react_workflow'), {
      rawTask,
      model,
      task: { workflowArgs },
    }),
  };
};
const answer = (result: unknown): ScriptedAnswer => ({
  toolCalls: [{ name: 'generate_response', arguments: { result } }],
});

describe('agentscope_react_workflow', () => {
  it('takes the result of generate_response as the answer, after tools', async () => {
    const tool = {
      responseText: 'Let me see.',
      toolCalls: [{ name: 'calculator', arguments: { expression: '3*4' } }],
    };
    const { result, model } = await run([tool, answer('\\boxed{12}')], { tools: ['calculator'] });
    expect(result).toMatchObject({
      reward: 1,
      metrics: { accuracy: 1, turns: 2, tool_calls: 2, tool_errors: 0, react_memory_length: 5 },
    });
    expect(model.calls[1]!.messages.at(-1)).toMatchObject({ role: 'tool', content: '12' });
  });

  it('tells the model that its answer has no result', async () => {
    const { result, model } = await run([answer(null), answer('\\boxed{13}')]);
    expect(result).toMatchObject({ reward: 0, metrics: { tool_errors: 1, turns: 2 } });
    expect(model.calls[1]!.messages.at(-1)).toMatchObject({
      content: 'Error: result is null; expected text.',
    });
  });

  it('takes plain text as the answer too, and stops when the turns are over', async () => {
    expect((await run(['It is \\boxed{12}.'])).result).toMatchObject({ reward: 1 });
    expect((await run([answer(null)], { max_turns: 1 })).result).toMatchObject({
      reward: 0,
      metrics: { out_of_turns: 1 },
    });
  });

  it('knows gsm8k only', async () => {
    await expect(run([], { type: 'search' })).rejects.toThrow(
      'workflow_args.type: got "search", expected "gsm8k".',
    );
  });
});

it('an agent calls tools also where the service leaves out their type', async () => {
  const call = { id: '1', function: { name: 'calculator', arguments: '{"expression":"3*4"}' } };
  const messages = [{ tool_calls: [call] }, { content: '12' }];
  const create = async () => ({ choices: [{ message: messages.shift() }] });
  const client = { chat: { completions: { create } } } as never;
  const options = { client, model: 'm', tools: [calculatorTool], maxTurns: 2 };
  expect(await runReactAgent('3 x 4?', options)).toMatchObject({ text: '12', toolCalls: 1 });
});
