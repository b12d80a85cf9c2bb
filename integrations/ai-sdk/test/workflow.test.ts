import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { ModelError } from '@trinity-rft/core';
import { defaultFormatArgs } from '@trinity-rft/core/internal';
import {
  scriptedModel,
  tryWorkflow,
  type ScriptedAnswer,
  type WorkflowOutput,
} from '@trinity-rft/workflow';
import { generateText, Output } from 'ai';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
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
