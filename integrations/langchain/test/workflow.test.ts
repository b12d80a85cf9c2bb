/** Tests agents and graphs as workflows: threads, faults, tool names. */
import { MemorySaver, MessagesAnnotation, StateGraph } from '@langchain/langgraph';
import {
  scriptedModel,
  tryWorkflow,
  type ScriptedAnswer,
  type WorkflowDefinition,
} from '@trinity-rft/workflow';
import { testRuntime } from '@trinity-rft/testing';
import { createAgent, providerStrategy, tool } from 'langchain';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { z as z3 } from 'zod/v3';
import { langchainWorkflow, outcomeOf, redirected, redirectModel, runModel } from '../src/index.js';
import { unstableToolNames } from '../src/unstable-tools.js';
import { otherModel } from './support/agent.js';

const lookUp = tool(() => 'nothing', {
  name: 'look_up',
  description: 'Looks it up.',
  schema: z.object({}),
});
const lookingUp: ScriptedAnswer = { toolCalls: [{ name: 'look_up', arguments: {} }] };
const ask = (question: string) => ({ messages: [{ role: 'user' as const, content: question }] });
const rawTask = { prompt: 'Who?' };
const attempt = (workflow: WorkflowDefinition, answers: readonly ScriptedAnswer[]) => {
  const model = scriptedModel({ answers });
  const result = tryWorkflow(workflow, {
    rawTask,
    model,
    rewardFn: ({ response }) => response.length,
  });
  return { model, result };
};

it('scores the text of the answer', async () => {
  const agent = redirected(
    createAgent({ model: otherModel, tools: [lookUp], systemPrompt: 'Be brief.' }),
  );
  const workflow = langchainWorkflow({
    name: 'brief',
    run: async ({ question, config }) =>
      (await agent.invoke(ask(question), config)).messages.at(-1)?.text,
  });
  const { model, result } = attempt(workflow, [lookingUp, 'Me.']);
  expect(await result).toEqual({ reward: 3, metrics: { model_fault: 0 } });
  expect(model.calls.map(({ messages }) => messages.length)).toEqual([2, 4]);
});

it('gives every run a thread of its own, also in another process', async () => {
  const agent = createAgent({
    model: otherModel,
    tools: [],
    checkpointer: new MemorySaver(),
    middleware: [redirectModel()],
  });
  const threads = new Set<string>();
  const workflow = langchainWorkflow({
    name: 'remembering',
    run: async ({ question, config }) => {
      threads.add(config.configurable.thread_id);
      return (await agent.invoke(ask(question), config)).messages.at(-1)?.text;
    },
  });
  const model = scriptedModel({ answers: ['One.', 'Two.'] });
  for (const runtime of [testRuntime(), testRuntime()])
    await tryWorkflow(workflow, { rawTask, model, rewardFn: () => 0, runtime });
  expect(threads.size).toBe(2);
  expect(model.calls.map(({ messages }) => messages.length)).toEqual([1, 1]);
});

it('leaves the model of an agent alone that is invoked without a run', () => {
  expect(runModel({ configurable: { thread_id: 'x' } }, otherModel)).toBe(otherModel);
  expect(runModel(undefined, otherModel)).toBe(otherModel);
});

it('asks the model of the run in a node of a graph that was compiled before', async () => {
  const graph = new StateGraph(MessagesAnnotation)
    .addNode('model', async ({ messages }, config) => ({
      messages: await runModel(config, otherModel).invoke(messages),
    }))
    .addEdge('__start__', 'model')
    .compile();
  const workflow = langchainWorkflow({
    name: 'graph',
    run: async ({ question, config }) =>
      (await graph.invoke(ask(question), config)).messages.at(-1)?.text,
  });
  expect(await attempt(workflow, ['Me.']).result).toMatchObject({ reward: 3 });
});

it('makes data of a run that never answers, and keeps its turns', async () => {
  const agent = redirected(createAgent({ model: otherModel, tools: [lookUp] }));
  const workflow = langchainWorkflow({
    name: 'endless',
    faultReward: -1,
    run: async ({ question, config }) =>
      (await agent.invoke(ask(question), { ...config, recursionLimit: 4 })).messages.at(-1)?.text,
  });
  const { model, result } = attempt(workflow, [lookingUp, lookingUp, lookingUp]);
  expect(await result).toEqual({
    reward: -1,
    metrics: { model_fault: 1 },
    info: { fault: 'max_turns' },
  });
  expect(model.extractExperiencesFromHistory()).toHaveLength(2);
});

it('makes data of an answer that does not fit its schema', async () => {
  const responseFormat = providerStrategy(z.object({ name: z.string() }));
  const agent = redirected(createAgent({ model: otherModel, tools: [], responseFormat }));
  const workflow = langchainWorkflow({
    name: 'structured',
    run: async ({ question, config }) =>
      (await agent.invoke(ask(question), config)).structuredResponse.name,
  });
  expect(await attempt(workflow, ['Me.']).result).toMatchObject({
    reward: 0,
    info: { fault: 'model_behavior' },
  });
  expect(await attempt(workflow, ['']).result).toMatchObject({ info: { fault: 'model_behavior' } });
  expect(await attempt(workflow, ['{"name":"Me"}']).result).toMatchObject({
    reward: 2,
    metrics: { model_fault: 0 },
  });
});

const notJson = ['Seven', '{"a":', '{"a":1} ok', ''];
const unfit = [...notJson, '{"b":1}', '7'];
const fit = '{"a":1}';
const extracting = (args: Readonly<Record<string, number>>): ScriptedAnswer => ({
  toolCalls: [{ name: 'extract', arguments: args }],
});
const jsonSchema = { title: 'answer', type: 'object', properties: { a: { type: 'number' } } };

it.each([
  ['jsonSchema', 'zod', z.object({ a: z.number() }), unfit, fit],
  ['jsonSchema', 'zod 3', z3.object({ a: z3.number() }), unfit, fit],
  ['jsonSchema', 'JSON Schema', jsonSchema, notJson, fit],
  ['jsonMode', 'zod', z.object({ a: z.number() }), unfit, fit],
  ['jsonMode', 'JSON Schema', jsonSchema, notJson, fit],
  [
    'functionCalling',
    'zod',
    z.object({ a: z.number() }),
    [extracting({ b: 1 })],
    extracting({ a: 1 }),
  ],
] as const)(
  'makes data of answers that do not fit withStructuredOutput, by %s of %s',
  async (method, _kind, schema, answers: readonly ScriptedAnswer[], fitting: ScriptedAnswer) => {
    const workflow = langchainWorkflow({
      name: 'structured-model',
      run: async ({ question, chatModel, signal }) =>
        JSON.stringify(
          await chatModel
            .withStructuredOutput(schema as z.ZodObject, { method })
            .invoke(question, { signal }),
        ),
    });
    for (const answer of answers)
      expect(await attempt(workflow, [answer]).result).toMatchObject({
        reward: 0,
        info: { fault: 'model_behavior' },
      });
    expect(await attempt(workflow, [fitting]).result).toMatchObject({ reward: 7 });
  },
);

it.each([
  ['out of memory', () => Promise.reject(new RangeError('out of memory'))],
  ['is not valid JSON', () => Promise.resolve().then(() => String(JSON.parse('Seven')))],
  ['expected number', () => Promise.resolve().then(() => String(z.number().parse('Seven')))],
  ['is not valid JSON', () => new Response('Seven').json().then(String)],
])('passes on errors that are no fault of the model: %s', async (message, run) => {
  const workflow = langchainWorkflow({ name: 'broken', run });
  await expect(attempt(workflow, []).result).rejects.toThrow(message);
});

it('rejects tools whose names change with every call, and accepts them when their schema has a title', async () => {
  const structured = (schema: z.ZodObject<{ name: z.ZodString }>) => {
    const agent = redirected(createAgent({ model: otherModel, tools: [], responseFormat: schema }));
    return langchainWorkflow({
      name: 'extracting',
      run: async ({ question, config }) =>
        (await agent.invoke(ask(question), config)).structuredResponse.name,
    });
  };
  const schema = z.object({ name: z.string() });
  const said = await attempt(structured(schema), []).result.catch((error: unknown) => error);
  const causes: unknown[] = [];
  for (let error = said; error instanceof Error; error = error.cause)
    causes.push((error as { readonly code?: unknown }).code);
  expect(causes).toContain('TOOL_NAME_UNSTABLE');

  const titled = structured(schema.meta({ title: 'answer' }));
  const { result } = attempt(titled, [
    { toolCalls: [{ name: 'answer', arguments: { name: 'Me' } }] },
  ]);
  expect(await result).toMatchObject({ reward: 2 });
});

it('finds unstable names in requests of both kinds', () => {
  const names = (body: unknown) => unstableToolNames(JSON.stringify(body));
  expect(
    names({
      tools: [
        { type: 'function', function: { name: 'extract-1' } },
        { type: 'function', function: { name: 'extract' } },
      ],
    }),
  ).toEqual(['extract-1']);
  expect(names({ tools: [{ type: 'function', name: 'extract-12' }, null] })).toEqual([
    'extract-12',
  ]);
  expect([names({}), names(null), unstableToolNames('no JSON')]).toEqual([[], [], []]);
});

it('hands on errors that no model brought about, also where their causes go in circles', async () => {
  const [a, b] = [new Error('a'), new Error('b')];
  [a.cause, b.cause] = [b, a];
  await expect(outcomeOf(Promise.reject(a))).rejects.toBe(a);
});
