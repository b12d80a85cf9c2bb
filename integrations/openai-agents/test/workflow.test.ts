/** Tests agents as workflows: faults as data, agents with their own model, handoffs, and agents as tools. */
import { Agent, handoff, Runner, tool } from '@openai/agents';
import {
  scriptedModel,
  tryWorkflow,
  type ScriptedAnswer,
  type WorkflowDefinition,
} from '@trinity-rft/workflow';
import { expect, it } from 'vitest';
import { z } from 'zod';
import {
  openaiAgentsModel,
  openaiAgentsRunner,
  openaiAgentsWorkflow,
  withModel,
  type OpenAIAgentsContext,
} from '../src/index.js';
import { elsewhere } from './support/agent.js';

const lookUp = tool({
  name: 'look_up',
  description: 'Looks it up.',
  parameters: z.object({}),
  execute: () => 'nothing',
});
const call = (name: string, args: object = {}): ScriptedAnswer => ({
  toolCalls: [{ name, arguments: args }],
});

const attempt = (workflow: WorkflowDefinition, answers: readonly ScriptedAnswer[]) => {
  const model = scriptedModel({ answers });
  const result = tryWorkflow(workflow, {
    rawTask: { prompt: 'Who?' },
    model,
    rewardFn: ({ response }) => response.length,
  });
  return { model, result };
};
const workflowOf = (
  run: (context: OpenAIAgentsContext) => Promise<string | undefined>,
): WorkflowDefinition => openaiAgentsWorkflow({ name: 'tried', api: 'chat', faultReward: -1, run });

it('scores the text of the answer', async () => {
  const agent = new Agent({
    name: 'Solver',
    model: 'gpt-5',
    instructions: 'Be brief.',
    tools: [lookUp],
  });
  const { model, result } = attempt(
    workflowOf(
      async ({ runner, question, signal }) =>
        (await runner.run(agent, question, { signal })).finalOutput,
    ),
    [call('look_up'), 'Me.'],
  );
  expect(await result).toEqual({ reward: 3, metrics: { model_fault: 0 } });
  expect(model.calls.map(({ messages }) => messages.length)).toEqual([2, 4]);
});

it.each([
  ['max_turns', 'that never answers', [call('look_up'), call('look_up'), call('look_up')]],
  [
    'model_behavior',
    'that calls a tool that does not exist',
    [call('look_up'), call('ask_mother')],
  ],
  ['model_behavior', 'whose answer does not fit its schema', [call('look_up'), 'Me.']],
] as const)(
  'makes data of a run with the fault %s, %s, and keeps its turns',
  async (fault, _, answers) => {
    const agent = new Agent({
      name: 'Solver',
      tools: [lookUp],
      outputType: z.object({ name: z.string() }),
    });
    const { model, result } = attempt(
      workflowOf(
        async ({ runner, question }) =>
          (await runner.run(agent, question, { maxTurns: 2 })).finalOutput?.name,
      ),
      answers,
    );
    expect(await result).toEqual({ reward: -1, metrics: { model_fault: 1 }, info: { fault } });
    expect(model.extractExperiencesFromHistory()).toHaveLength(2);
  },
);

it('makes data of a fault in a stream too', async () => {
  const agent = new Agent({ name: 'Solver', model: elsewhere });
  const workflow = workflowOf(async ({ runner, question }) => {
    const stream = await runner.run(agent, question, { stream: true, maxTurns: 0 });
    for await (const _event of stream);
    await stream.completed;
    return stream.finalOutput;
  });
  expect(await attempt(workflow, []).result).toMatchObject({
    reward: -1,
    info: { fault: 'max_turns' },
  });
});

it('makes data of a fault that another copy of the SDK, or a subclass, reports', async () => {
  class MaxTurnsExceededError extends Error {}
  class TooLong extends MaxTurnsExceededError {}
  for (const error of [new MaxTurnsExceededError(), new TooLong()])
    expect(
      await attempt(
        workflowOf(() => Promise.reject(error)),
        [],
      ).result,
    ).toMatchObject({
      reward: -1,
      info: { fault: 'max_turns' },
    });
});

it('passes on errors that are no fault of the model', async () => {
  await expect(
    attempt(
      workflowOf(() => Promise.reject(new RangeError('out of memory'))),
      [],
    ).result,
  ).rejects.toThrow('out of memory');
});

it('gives the model to agents that hold another one, through hand-overs in a circle', async () => {
  const expert = new Agent({ name: 'Expert', model: elsewhere });
  const front = new Agent({
    name: 'Front',
    model: elsewhere,
    handoffs: [handoff(expert, { toolNameOverride: 'ask_expert' })],
  });
  expert.handoffs = [front];
  const workflow = workflowOf(async ({ runner, model, question }) => {
    const agent = withModel(front, openaiAgentsModel(model.endpoint(), { api: 'chat' }));
    return (await runner.run(agent, question)).finalOutput;
  });
  const { model, result } = attempt(workflow, [
    call('ask_expert'),
    call('transfer_to_Front'),
    'Me.',
  ]);
  expect(await result).toMatchObject({ reward: 3 });
  expect(model.calls).toHaveLength(3);
  expect([front.model, expert.model]).toEqual([elsewhere, elsewhere]);
});

it('follows agents that are tools: by name through the runner, with a model of their own through agentTools', async () => {
  const named = new Agent({ name: 'Named', model: 'gpt-5' }).asTool({
    toolName: 'named',
    toolDescription: 'An agent.',
  });
  const expert = new Agent({ name: 'Expert', model: elsewhere });
  const asTool = (agent: typeof expert) =>
    agent.asTool({ toolName: 'expert', toolDescription: 'Another agent.' });
  const front = new Agent({
    name: 'Front',
    model: elsewhere,
    tools: [lookUp, named, asTool(expert)],
  });
  const workflow = workflowOf(async ({ runner, model, question }) => {
    const agent = withModel(front, openaiAgentsModel(model.endpoint(), { api: 'chat' }), {
      agentTools: { named: 'keep', expert: (redirect) => asTool(redirect(expert)) },
    });
    return (await runner.run(agent, question)).finalOutput;
  });
  const answers = [
    call('named', { input: 'Who?' }),
    'You.',
    call('expert', { input: 'Who?' }),
    'Us.',
    'Me.',
  ];
  const { model, result } = attempt(workflow, answers);
  expect(await result).toMatchObject({ reward: 3 });
  expect(model.calls).toHaveLength(5);
});

it('names an agent tool that agentTools lacks', () => {
  const expert = new Agent({ name: 'Expert', model: elsewhere });
  const front = new Agent({
    name: 'Front',
    tools: [expert.asTool({ toolName: 'expert', toolDescription: 'An agent.' })],
  });
  expect(() => withModel(front, elsewhere)).toThrow(/"expert" is an agent.*agentTools/);
});

it('sends traces nowhere by itself', () => {
  const runner = openaiAgentsRunner(scriptedModel({ answers: [] }).endpoint());
  expect(runner).toBeInstanceOf(Runner);
  expect(runner.config.tracingDisabled).toBe(true);
});
