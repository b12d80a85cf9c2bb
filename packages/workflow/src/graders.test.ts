import type { Experience } from '@trinity-rft/core';
import { createRewardFn } from './reward/index.js';
import { describe, expect, it } from 'vitest';
import { createRewardRegistry, createWorkflowRegistry } from './registries.js';
import { scriptedModel, type ScriptedAnswer } from './scripted/scripted-model.js';
import { tryWorkflow, type TryOptions } from './scripted/try-workflow.js';

/** The reward, the metrics, and the messages that the model got. */
async function attempt(
  workflow: string,
  answer: ScriptedAnswer,
  options: Omit<TryOptions, 'model'>,
) {
  const model = scriptedModel({ answers: [answer] });
  const [experience] = (await tryWorkflow(createWorkflowRegistry().get(workflow), {
    ...options,
    model,
  })) as readonly Experience[];
  return {
    reward: experience?.reward,
    metrics: experience?.metrics,
    messages: model.calls[0]!.messages,
  };
}

describe('math_eval_workflow', () => {
  const rawTask = { question: '1/4 + 1/4', response: '0.5' };

  it('asks the question of the row for a box, and scores it by the checker that is wanted', async () => {
    const { reward, metrics, messages } = await attempt(
      'math_eval_workflow',
      'So \\boxed{\\frac12}',
      { rawTask },
    );
    expect([reward, metrics]).toEqual([1, { accuracy: 1 }]);
    expect(messages.map(({ role }) => role)).toEqual(['system', 'user']);
    expect(messages[1]!.content).toMatch(/^1\/4 \+ 1\/4\n.*\\boxed\{\}\.$/);
    const task = { workflowArgs: { checker: 'trinity' } };
    expect(
      (await attempt('async_math_eval_workflow', 'So \\boxed{\\frac12}', { rawTask, task })).reward,
    ).toBe(0);
    expect((await attempt('math_eval_workflow', '\\boxed{50}', { rawTask, task })).reward).toBe(1);
  });

  it('rejects an unknown checker', async () => {
    const task = { workflowArgs: { checker: 'sympy' } };
    await expect(attempt('math_eval_workflow', '', { rawTask, task })).rejects.toThrow(
      /expected math or trinity/,
    );
  });
});

describe('math_rm_workflow', () => {
  it('needs a reward function, and uses it', async () => {
    const rawTask = { prompt: '1+1', response: '2' };
    expect((await attempt('math_rm_workflow', '2', { rawTask, rewardFn: () => 0.7 })).reward).toBe(
      0.7,
    );
    await expect(attempt('math_rm_workflow', '2', { rawTask })).rejects.toThrow(
      /default_reward_fn_type/,
    );
  });
});

describe('tool_call_workflow', () => {
  const rawTask = {
    raw_system: 'You run a shop.',
    tools: JSON.stringify([
      { name: 'price', parameters: { type: 'object', properties: { item: { type: 'string' } } } },
    ]),
    conversations: [
      { from: 'human', value: 'Tea?' },
      { from: 'gpt', value: 'Which?' },
      { from: 'observation', value: 'green' },
      { from: 'function_call', value: { name: 'stock', arguments: {} } },
    ],
    answer: [{ name: 'price', arguments: { item: 'tea' } }],
  };
  const answer =
    '<think>ask</think> <tool_call>{"name":"price","arguments":{"item":"tea"}}</tool_call>';

  it.each([null, undefined])('begins with its instruction where raw_system is %s', async (none) => {
    const row = { ...rawTask, raw_system: none };
    const { messages } = await attempt('tool_call_workflow', answer, { rawTask: row });
    expect(messages[0]?.content).toMatch(/^You may call the tools below/);
  });

  it('shows tools and conversation, and scores the calls', async () => {
    const { reward, messages } = await attempt('tool_call_workflow', answer, { rawTask });
    expect(reward).toBe(1);
    expect(messages.map(({ role }) => role)).toEqual([
      'system',
      'user',
      'assistant',
      'tool',
      'assistant',
    ]);
    expect(messages[0]!.content).toMatch(
      /^You run a shop\.[^]*<tools>\n\{"type":"function","function":\{"name":"price"/,
    );
    expect(messages[4]!.content).toBe('{"name":"stock","arguments":{}}');
    expect(
      (await attempt('toolcall_workflow', answer.replace('tea', 'milk'), { rawTask })).reward,
    ).toBe(0);
  });

  it('finds the thought where a reasoning parser has put it', async () => {
    const apart = {
      reasoningText: 'ask',
      responseText: answer.slice(answer.indexOf('<tool_call>')),
    };
    expect((await attempt('tool_call_workflow', apart, { rawTask })).reward).toBe(1);
  });

  it.each([
    [{ ...rawTask, tools: 'price()' }, /Row 0 .* "tools" that is not a list/],
    [{ ...rawTask, conversations: undefined }, /"conversations" missing/],
    [
      { ...rawTask, conversations: [{ from: 'dog', value: '' }] },
      /from "dog"; expected one of human/,
    ],
  ])('names the row that it cannot read', async (row, message) => {
    await expect(attempt('tool_call_workflow', answer, { rawTask: row })).rejects.toThrow(message);
  });
});

describe('rewards of length and layout', () => {
  // The scripted model ends each answer with one more token.
  it('get the number of tokens and the reasoning from workflows of one answer', async () => {
    const rawTask = { prompt: '1+1', response: '2' };
    const lengths = { max_response_length: 20, cache_length: 10 };
    const long = await attempt('simple_workflow', 'x'.repeat(14), {
      rawTask,
      rewardFn: createRewardFn('overlong_penalty_reward', lengths),
    });
    expect(long.reward).toBeCloseTo(-0.5, 12);
    const apart = { reasoningText: 'add', responseText: '<answer>2</answer>' };
    expect((await attempt('math_workflow', apart, { rawTask })).metrics).toEqual({
      accuracy: 1,
      format_score: 0.1,
    });
  });

  it('are rejected when the configuration is read, like any other with wrong arguments', () => {
    expect(() => createRewardRegistry().get('rm_gallery_reward').create({})).toThrow(/RM-Gallery/);
    expect(() =>
      createRewardRegistry().get('math_dapo_reward').create({ enable_overlong_penalty: true }),
    ).toThrow(/Set all three/);
  });
});
