import { Agent } from '@agentscope-ai/agentscope/agent';
import { createMsg, type ContentBlock } from '@agentscope-ai/agentscope/message';
import { OpenAIChatModel } from '@agentscope-ai/agentscope/model';
import { Toolkit } from '@agentscope-ai/agentscope/tool';
import { defaultFormatArgs } from '@trinity-rft/core';
import { servedRollouts } from '@trinity-rft/model/testing';
import { scriptedSampler, type AgentRollout } from '@trinity-rft/testing';
import { scriptedModel, tryWorkflow, type AgentEndpoint } from '@trinity-rft/workflow';
import { afterAll, describe, expect, it } from 'vitest';
import {
  agentscopeModel,
  agentscopeWorkflow,
  type AgentscopeWorkflowOptions,
} from '../src/index.js';

const served = await servedRollouts();
afterAll(() => served.close());

const rawTask = { question: 'one plus one', answer: '2' };
const task = { formatArgs: { ...defaultFormatArgs, promptKey: 'question', responseKey: 'answer' } };

async function attempt(
  run: AgentscopeWorkflowOptions['run'],
  replies: readonly string[],
  over: Partial<AgentscopeWorkflowOptions> = {},
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
  const result = await tryWorkflow(agentscopeWorkflow({ name: 'test', run, ...over }), {
    model,
    rawTask,
    task,
    rewardFn,
  });
  return { result, records: rollout.records() };
}

const asked = (text: string) =>
  createMsg({ name: 'user', role: 'user', content: [{ type: 'text', id: 'question', text }] });

/** Agent that sends no tools; the framework would send an empty list and a tool choice. */
const ask: AgentscopeWorkflowOptions['run'] = ({ question, settings }) =>
  new Agent({ name: 'sums', sysPrompt: 'Be brief.', model: new OpenAIChatModel(settings) }).reply({
    msgs: asked(question),
  });

describe('agentscopeWorkflow', () => {
  it.each([false, true])(
    'has the agent answer with the model of the run (stream: %s), and the reply scored',
    async (stream) => {
      const { result, records } = await attempt(ask, ['2'], { stream });
      expect(result).toMatchObject({ reward: 1 });
      expect(records).toMatchObject([{ responseText: '2' }]);
    },
  );

  it('takes a text for the answer, nothing for an empty one, and a reward as it is', async () => {
    expect((await attempt(() => Promise.resolve('2'), [])).result).toMatchObject({ reward: 1 });
    expect((await attempt(() => Promise.resolve(null), [])).result).toMatchObject({ reward: 0 });
    const known = { reward: 0.5, metrics: { tool_calls: 1 } };
    expect((await attempt(() => Promise.resolve(known), [])).result).toEqual(known);
  });

  it('asks once more when the model said nothing, and records both answers', async () => {
    const { result, records } = await attempt(ask, ['', '2']);
    expect(result).toMatchObject({ reward: 1 });
    expect(records).toMatchObject([{ responseText: '' }, { responseText: '2' }]);
  });

  it('prints turns with the formatter that it is given', async () => {
    const seen: ContentBlock['type'][][] = [];
    const formatter = {
      format: ({ msgs }: { msgs: ReturnType<typeof asked>[] }) => {
        seen.push(...msgs.slice(2).map(({ content }) => content.map(({ type }) => type)));
        return Promise.resolve([{ role: 'user', content: 'Go.' }]);
      },
    };
    const call = '<tool_call>\n{"name": "add", "arguments": {}}\n</tool_call>';
    const add = {
      name: 'add',
      description: 'Adds.',
      inputSchema: { type: 'object' as const },
      call: () => '2',
    };
    const withTools: AgentscopeWorkflowOptions['run'] = ({ question, settings }) =>
      new Agent({
        name: 'sums',
        sysPrompt: '',
        model: new OpenAIChatModel(settings),
        toolkit: new Toolkit({ tools: [add] }),
      }).reply({
        msgs: asked(question),
      });
    await attempt(withTools, [call, call, '2'], { formatter });
    const turn = ['tool_call', 'tool_result'];
    expect(seen).toEqual([turn, turn, turn]);
  });

  it.each([false, true])(
    'tells the explorer that the prompt is too long (stream: %s)',
    async (stream) => {
      const sampler = scriptedSampler({ script: [], maxModelLen: 20 });
      const { endpoint } = await served.open({ sampler, signal: new AbortController().signal });
      const model = new OpenAIChatModel(agentscopeModel(endpoint, { stream }));
      const asking = new Agent({ name: 'sums', sysPrompt: 'Be brief.', model }).reply({
        msgs: asked('Who was it?'.repeat(9)),
      });
      await expect(asking).rejects.toMatchObject({ status: 400, code: 'context_length_exceeded' });
    },
  );
});
