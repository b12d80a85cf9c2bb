import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { ModelError, defaultFormatArgs } from '@trinity-rft/core';
import {
  scriptedModel,
  tryWorkflow,
  type ScriptedAnswer,
  type WorkflowOutput,
} from '@trinity-rft/workflow';
import { generateText, isStepCount, NoOutputGeneratedError, Output, tool } from 'ai';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { aiSdkModel } from '../src/model.js';
import { outcomeOf } from '../src/outcome.js';
import { aiSdkWorkflow, type AiSdkWorkflowOptions } from '../src/workflow.js';

type Options = AiSdkWorkflowOptions<typeof createOpenAICompatible>;

const rawTask = { question: 'one plus one', answer: '2' };
const task = { formatArgs: { ...defaultFormatArgs, promptKey: 'question', responseKey: 'answer' } };
const rewardFn = ({
  response,
  truth,
}: {
  readonly response: string;
  readonly truth?: string | undefined;
}) => (response === truth ? 1 : 0);

const attempt = (run: Options['run'], answers: readonly ScriptedAnswer[], over: object = {}) =>
  tryWorkflow(aiSdkWorkflow({ name: 'test', provider: createOpenAICompatible, run, ...over }), {
    model: scriptedModel({ answers }),
    auxiliaryModels: { judge: scriptedModel({ answers: ['from the judge'] }) },
    rawTask,
    task,
    rewardFn,
  });

it.each(['oops', '{"error":{"message":"oops"}}'])(
  'names the model whose server answers %s',
  async (body) => {
    const endpoint = {
      ...scriptedModel({ answers: [] }).endpoint(),
      model: 'big',
      baseURL: 'http://judge/v1',
      fetch: () => Promise.resolve(new Response(body, { status: 500 })),
    };
    const model = aiSdkModel(endpoint, createOpenAICompatible);
    await expect(generateText({ model, prompt: 'Well?' })).rejects.toThrow(
      /^The model "big" at judge answered with status 500: oops$/,
    );
  },
);

describe('aiSdkWorkflow', () => {
  it('asks the trained model, as an object and by any name, and has the answer scored', async () => {
    const run: Options['run'] = async ({ question, languageModel }) => {
      const first = await generateText({ model: languageModel, prompt: question });
      const second = await generateText({ model: 'openai/gpt-5', prompt: question });
      return first.text + second.text;
    };
    expect(await attempt(run, ['', '2'])).toEqual({ reward: 1, metrics: { model_fault: 0 } });
    expect(await attempt(run, ['2', '2'])).toMatchObject({ reward: 0 });
  });

  it('serves auxiliary models by their names', async () => {
    const run: Options['run'] = async () => ({
      reward: 0,
      info: { said: (await generateText({ model: 'judge', prompt: 'Well?' })).text },
    });
    expect(await attempt(run, [])).toMatchObject({ info: { said: 'from the judge' } });
  });

  it('takes a reward that the agent brings along', async () => {
    const output: WorkflowOutput = { reward: 0.5, metrics: { turns: 3 } };
    expect(await attempt(async () => Promise.resolve(output), [])).toEqual({
      reward: 0.5,
      metrics: { model_fault: 0, turns: 3 },
    });
  });

  it('gives the fault reward to answers that do not fit their schema', async () => {
    const output = Output.object({ schema: z.object({ sum: z.number() }) });
    const run: Options['run'] = async ({ question, languageModel }) =>
      String((await generateText({ model: languageModel, prompt: question, output })).output.sum);
    expect(await attempt(run, ['{"sum": 2}'])).toMatchObject({ reward: 1 });
    expect(await attempt(run, ['two'], { faultReward: -1 })).toEqual({
      reward: -1,
      metrics: { model_fault: 1 },
      info: { fault: 'model_behavior' },
    });
  });

  it('gives the fault reward where the last step has no answer', async () => {
    const output = Output.object({ schema: z.object({ sum: z.number() }) });
    const look = tool({ inputSchema: z.object({}), execute: () => 'nothing' });
    const run: Options['run'] = async ({ question: prompt, languageModel: model }) => {
      const stopWhen = isStepCount(2);
      const asked = await generateText({ model, prompt, output, stopWhen, tools: { look } });
      return String(asked.output.sum);
    };
    const call: ScriptedAnswer = { toolCalls: [{ name: 'look', arguments: {} }] };
    const cut: ScriptedAnswer = { responseText: '', finishReason: 'length' };
    for (const answers of [[call, call], [cut]])
      expect(await attempt(run, answers)).toMatchObject({ info: { fault: 'model_behavior' } });
    const broken = outcomeOf(
      Promise.reject(
        new NoOutputGeneratedError({
          message: 'No output generated. Check the stream for errors.',
        }),
      ),
    );
    await expect(broken).rejects.toThrow('Check the stream');
  });

  it('fails at once with what the endpoint said', async () => {
    const run: Options['run'] = async ({ languageModel }) =>
      (await generateText({ model: languageModel, prompt: 'Hi.' })).text;
    const failing = attempt(run, [new ModelError('The engine is down.', { status: 503 }), '2']);
    await expect(failing).rejects.toMatchObject({
      name: 'ModelError',
      status: 503,
      message: expect.stringContaining('engine is down') as string,
    });
  });

  it('does not ask the agent an empty question', async () => {
    const workflow = aiSdkWorkflow({
      name: 'test',
      provider: createOpenAICompatible,
      run: async () => Promise.reject(new Error('The agent was asked.')),
    });
    const model = scriptedModel({ answers: [] });
    for (const row of [{ text: '1+1' }, { prompt: '  ' }])
      await expect(tryWorkflow(workflow, { model, rawTask: row })).rejects.toThrow(
        /^Row 0 of task set "tried" has (no|an empty) "prompt"/,
      );
  });

  it('hands its arguments to the agent as its schema says, and refuses others', async () => {
    const workflow = aiSdkWorkflow({
      name: 'test',
      provider: createOpenAICompatible,
      args: z.strictObject({ depth: z.int().min(1).default(3) }),
      run: async (_context, { depth }) => Promise.resolve({ reward: depth }),
    });
    const tried = (workflowArgs: Readonly<Record<string, unknown>>) =>
      tryWorkflow(workflow, {
        model: scriptedModel({ answers: [] }),
        rawTask,
        task: { ...task, workflowArgs },
      });
    expect(await tried({})).toMatchObject({ reward: 3 });
    expect(workflow.checkArgs?.({ depht: 2 })).toEqual([
      { path: ['depht'], message: 'the workflow has no argument "depht". Did you mean "depth"?' },
    ]);
    await expect(tried({ depth: 0 })).rejects.toThrow(/workflow_args\.depth: got 0\. Too small/);
  });

  it('asks for a reward function where the answer is text', async () => {
    const workflow = aiSdkWorkflow({
      name: 'test',
      provider: createOpenAICompatible,
      run: async () => Promise.resolve('2'),
    });
    await expect(
      tryWorkflow(workflow, { model: scriptedModel({ answers: [] }), rawTask, task }),
    ).rejects.toMatchObject({
      code: 'REWARD_MISSING',
    });
  });
});
