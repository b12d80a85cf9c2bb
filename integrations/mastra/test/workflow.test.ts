import { Agent } from '@mastra/core/agent';
import { Mastra } from '@mastra/core/mastra';
import { defaultFormatArgs } from '@trinity-rft/core';
import { servedRollouts } from '@trinity-rft/model/testing';
import { scriptedSampler, testRuntime, type AgentRollout } from '@trinity-rft/testing';
import { scriptedModel, tryWorkflow, type AgentEndpoint } from '@trinity-rft/workflow';
import { workflowContext } from '@trinity-rft/workflow/internal';
import { afterAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { finalText } from '../src/final-text.js';
import { mastraRunOptions } from '../src/run-options.js';
import { mastraWorkflow, type MastraWorkflowOptions } from '../src/workflow.js';

const served = await servedRollouts();
afterAll(() => served.close());

const agent = new Agent({
  id: 'sums',
  name: 'sums',
  instructions: 'Be brief.',
  model: 'openai/gpt-5',
});
// Turns logging off; the caller gets the errors as well.
new Mastra({ agents: { agent }, logger: false });

const rawTask = { question: 'one plus one', answer: '2' };
const task = { formatArgs: { ...defaultFormatArgs, promptKey: 'question', responseKey: 'answer' } };

async function attempt(
  run: MastraWorkflowOptions['run'],
  replies: readonly string[],
  over: Partial<MastraWorkflowOptions> = {},
) {
  const sampler = scriptedSampler({
    script: replies.map((reply) => served.encode(`${reply}<|im_end|>`)),
  });
  const rollout: AgentRollout<AgentEndpoint> = await served.open({
    sampler,
    signal: new AbortController().signal,
  });
  const model = { ...scriptedModel({ answers: [] }), endpoint: () => rollout.endpoint };
  const rewardFn = ({
    response,
    truth,
  }: {
    readonly response: string;
    readonly truth?: string | undefined;
  }): number => (response === truth ? 1 : 0);
  const result = await tryWorkflow(mastraWorkflow({ name: 'test', run, ...over }), {
    model,
    rawTask,
    task,
    rewardFn,
  });
  return { result, records: rollout.records() };
}

describe('mastraWorkflow', () => {
  it.each(['chat', 'responses'] as const)(
    'has the agent answer with the model of the run over %s, and the answer scored',
    async (api) => {
      const run: MastraWorkflowOptions['run'] = async ({ question, options }) =>
        finalText(await agent.generate(question, options));
      const { result, records } = await attempt(run, ['2'], { api });
      expect(result).toEqual({ reward: 1, metrics: { model_fault: 0 } });
      expect(records).toMatchObject([{ responseText: '2' }]);
    },
  );

  it.each(['chat', 'responses'] as const)(
    'reads structured output over %s, and gives the fault reward to what does not fit',
    async (api) => {
      const run: MastraWorkflowOptions['run'] = async ({ question, options }) => {
        const { object } = await agent.generate(question, {
          ...options,
          structuredOutput: { schema: z.object({ sum: z.number() }) },
        });
        return String(object.sum);
      };
      expect((await attempt(run, ['{"sum": 2}'], { api })).result).toMatchObject({ reward: 1 });
      const { result, records } = await attempt(run, ['two'], { api, faultReward: -1 });
      expect(result).toEqual({
        reward: -1,
        metrics: { model_fault: 1 },
        info: { fault: 'model_behavior' },
      });
      expect(records).toMatchObject([{ responseText: 'two' }]);
    },
  );
});

describe('mastraRunOptions', () => {
  it('gives every run a memory thread of its own, also in another process', () => {
    const context = workflowContext({ model: scriptedModel({ answers: [] }), rawTask });
    const threads = [testRuntime(), testRuntime()].map(
      (runtime) => mastraRunOptions({ ...context, runtime }).memory.thread,
    );
    expect(new Set(threads).size).toBe(2);
    expect(mastraRunOptions(context)).toMatchObject({
      model: { id: 'trinity/scripted', api: 'responses' },
      abortSignal: context.signal,
    });
  });
});

describe('finalText', () => {
  it('is the text of the last turn, and throws what a stream only tells', () => {
    expect(
      finalText({ text: 'I look.Mild.', steps: [{ text: 'I look.' }, { text: 'Mild.' }] }),
    ).toBe('Mild.');
    expect(finalText({ text: 'Mild.', steps: [] })).toBe('Mild.');
    const error = new TypeError('down');
    expect(() => finalText({ text: '', steps: [], error })).toThrow(error);
  });
});
