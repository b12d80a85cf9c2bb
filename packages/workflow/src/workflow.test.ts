import {
  createRuntime,
  type Experience,
  type Task,
  defaultFormatArgs,
  withFields,
} from '@trinity-rft/core';
import { describe, expect, it } from 'vitest';
import { createRewardRegistry, createWorkflowRegistry } from './registries.js';
import { defineReward, fromScorer } from './reward/index.js';
import { defineWorkflow, isWorkflowDefinition } from './definition/define.js';
import { createRegistry } from './definition/registry.js';
import { scoreResponse } from './scoring/score-response.js';
import { callTool } from './built-in/react/tool.js';
import { SimpleWorkflow } from './built-in/single-turn/simple-workflow.js';
import { scriptedModel } from './scripted/scripted-model.js';
import { tryWorkflow } from './scripted/try-workflow.js';
import type { AgentModel, WorkflowContext } from './definition/types.js';
import { Workflow } from './definition/workflow-class.js';

const task: Task = {
  taskId: 0,
  batchId: 1,
  workflow: 'test',
  rewardFn: 'mine',
  rawTask: { prompt: 'one plus one', response: '2' },
  formatArgs: defaultFormatArgs,
  rolloutArgs: {},
  workflowArgs: {},
  rewardFnArgs: {},
  repeatTimes: 1,
  isEval: false,
  index: { taskset: 'set', row: 7 },
};

const context = (over: Partial<WorkflowContext> = {}): WorkflowContext => ({
  task,
  model: {} as AgentModel,
  auxiliaryModels: new Map(),
  runtime: createRuntime(),
  signal: new AbortController().signal,
  ...over,
});

describe('defineWorkflow', () => {
  it('makes a workflow of a function', async () => {
    const definition = defineWorkflow({
      name: 'f',
      run: ({ task: { rawTask } }) => Number(rawTask['response']),
    });
    expect(await definition.create(context()).run()).toBe(2);
    expect([definition.canRepeat, definition.canReset, isWorkflowDefinition(definition)]).toEqual([
      false,
      false,
      true,
    ]);
  });

  it('takes the flags of a class, and a reused instance sees the new task', async () => {
    class Counting extends Workflow {
      static override readonly canReset = true;
      static override readonly canRepeat = true;
      seen = 0;
      run(): number {
        return Number(this.task.rawTask['response']) * 100 + this.seen * 10 + this.repeatTimes;
      }
      override reset(): void {
        this.seen++;
      }
    }
    const definition = defineWorkflow({ name: 'counting', workflow: Counting });
    expect([definition.canReset, definition.canRepeat]).toEqual([true, true]);
    const instance = definition.create(context());
    instance.setRepeatTimes?.(3, 0);
    expect(await instance.run()).toBe(203);
    await instance.reset?.(context({ task: { ...task, rawTask: { response: '5' } } }));
    expect(await instance.run()).toBe(513);
  });

  it('takes truth values as rewards', async () => {
    const { create } = defineReward({
      name: 'equal',
      score: ({ response, truth }) => ({ equal: response === truth, brief: response.length < 3 }),
    });
    const scored = await scoreResponse(create({}), task, '2');
    expect(scored).toMatchObject({ reward: 2, parts: { equal: 1, brief: 1 } });
    const plain = defineReward({ name: 'plain', score: async ({ response }) => response === '3' });
    expect(await scoreResponse(plain.create({}), task, '2')).toMatchObject({ reward: 0 });
    const input = { response: '3', truth: '3', prompt: undefined, rawTask: {} };
    expect(create({})(input)).toEqual({ equal: true, brief: true });
  });

  it('ignores options that are undefined', async () => {
    const both = { run: () => 3, workflow: undefined, args: undefined };
    const { create } = defineWorkflow({ name: 'f', ...both } as never);
    expect(await create(context()).run()).toBe(3);
  });

  it('rejects names with blanks, and what is no class', () => {
    expect(() => defineWorkflow({ name: 'mine', workflow: () => 1 } as never)).toThrow(
      'as `workflow`; expected a class.',
    );
    expect(() => defineWorkflow({ name: 'two words', run: () => 1 })).toThrow(
      '"two words" is invalid',
    );
  });
});

describe('registries', () => {
  it('hold what is built in, and reject duplicate names', () => {
    const names = createWorkflowRegistry().names();
    const twice =
      'simple_workflow math_workflow math_boxed_workflow math_eval_workflow math_rm_workflow math_ruler_workflow'.split(
        ' ',
      );
    const once =
      'react_workflow agentscope_react_workflow as_react_workflow rubric_judge_workflow rubric_judge_openai_workflow ruler_workflow math_trainable_ruler_workflow tool_call_workflow';
    expect(names).toEqual(
      expect.arrayContaining([
        ...twice,
        ...twice.map((name) => `async_${name}`),
        ...once.split(' '),
      ]),
    );
    const mine = defineWorkflow({ name: 'math_workflow', run: () => 1 });
    expect(() => createWorkflowRegistry([mine])).toThrow(
      'A workflow named "math_workflow" is already registered',
    );
    const reward = defineReward({ name: 'mine', score: () => 1 });
    expect(createRewardRegistry([reward]).has('mine')).toBe(true);
  });

  it('read names of Trinity-RFT and its classes, and say what to use instead of the rest', () => {
    const workflows = createWorkflowRegistry();
    const example = 'examples.bots.workflow.bots_math_boxed_workflow.BOTSMathBoxedWorkflow';
    expect(workflows.get(example).name).toBe('bots_math_boxed_workflow');
    expect(workflows.readAs('trinity.common.workflows.x.MathBoxedWorkflow')).toBe(
      'math_boxed_workflow',
    );
    expect(createRewardRegistry().readAs('trinity.common.rewards.math_reward.MathRewardFn')).toBe(
      'math_reward',
    );
    expect(workflows.has('my_package.flows.MathWorkflow')).toBe(false);
    expect(() => workflows.get('my_package.flows.MathWorkflow')).toThrow(
      /is a class of Python.*defineWorkflow/,
    );
    expect(() => workflows.get('simple_mm_workflow')).toThrow(/models here read text only/);
    expect(workflows.refusal('math_workflow')).toBeUndefined();
    expect(createRewardRegistry().refusal('openjudge_reward')).toMatch(/rubric_judge_workflow/);
    const own = defineWorkflow({ name: 'simple_mm_workflow', run: () => 1 });
    expect(createWorkflowRegistry([own]).get('simple_mm_workflow')).toBe(own);
  });

  it('suggest the nearest name', () => {
    const registry = createRegistry<number>('thing');
    registry.register('shuffle', 1);
    expect(() => registry.get('shufle')).toThrow(
      'There is no thing named "shufle". Did you mean "shuffle"? Known: shuffle.',
    );
  });
});

describe('SimpleWorkflow', () => {
  it('lets a subclass process the result of a group of which a rollout failed', async () => {
    class Rescaled extends SimpleWorkflow {
      override async run(): Promise<readonly Experience[]> {
        const experiences = await super.run();
        return experiences.map((one) => withFields(one, { reward: (one.reward ?? 0) * 10 }));
      }
    }
    const definition = defineWorkflow({ name: 'rescaled', workflow: Rescaled });
    const attempt = tryWorkflow(definition, {
      rawTask: { prompt: 'a' },
      model: scriptedModel({ answers: ['bad', 'good'] }),
      rewardFn: ({ response }) => {
        if (response === 'bad') throw new Error('no verdict');
        return 1;
      },
      task: { repeatTimes: 2 },
    });
    await expect(attempt).rejects.toMatchObject({
      message: expect.stringMatching(/^Rollouts 0 of a group failed: .*no verdict/) as unknown,
      result: [{ reward: 10, eid: { run: 1 } }],
    });
  });
});

describe('scoreResponse', () => {
  it('sums the parts', async () => {
    expect(await scoreResponse(() => ({ accuracy: 1, format: -0.25 }), task, '2')).toEqual({
      reward: 0.75,
      parts: { accuracy: 1, format: -0.25 },
      reasons: {},
    });
  });

  it('reads the reason of each part, and refuses one that is no text', async () => {
    const reasons = { accuracy: 'expected 42' };
    expect(await scoreResponse(() => ({ parts: { accuracy: 0 }, reasons }), task, '2')).toEqual({
      reward: 0,
      parts: { accuracy: 0 },
      reasons,
    });
    const unusable = { parts: { accuracy: 0 }, reasons: { accuracy: 1 as unknown as string } };
    await expect(scoreResponse(() => unusable, task, '2')).rejects.toThrow(
      'returned 1 as the reason for "accuracy"',
    );
  });

  it.each([Number.NaN, Infinity, 1e200, '1' as unknown as number])('rejects %s', async (value) => {
    await expect(scoreResponse(() => value, task, '2')).rejects.toMatchObject({
      code: 'REWARD_NOT_FINITE',
    });
  });

  it('names the function that threw and keeps the cause', async () => {
    const score = (): number => {
      throw new Error('no gold answer');
    };
    await expect(scoreResponse(score, task, '2')).rejects.toMatchObject({
      message: 'Reward function "mine" threw.',
      cause: { message: 'no gold answer' },
    });
  });

  it('names the function whose scorer failed, with the code of the failure', async () => {
    const scorer = fromScorer(() => ({ name: 'n', score: '0.5' }));
    await expect(scoreResponse(scorer, task, '2')).rejects.toMatchObject({
      message:
        'Reward function "mine" failed: The scorer "n" gave the score "0.5". Expected a number, or true or false.',
      code: 'SCORER_FAILED',
    });
  });
});

describe('callTool', () => {
  const tool = {
    definition: { type: 'function' as const, function: { name: 'echo' } },
    call: (args: Readonly<Record<string, unknown>>) => JSON.stringify(args),
  };

  it.each([
    ['echo', '{"a":1}', true, '{"a":1}'],
    ['other', '{}', false, 'Error: there is no tool named "other".'],
    ['echo', '[1]', false, 'Error: the arguments must be a JSON object.'],
    ['echo', '{"a"', false, 'Error:'],
  ])('%s(%s) tells the model', async (name, args, ok, text) => {
    const outcome = await callTool([tool], name, args);
    expect(outcome.ok).toBe(ok);
    expect(outcome.text.startsWith(text)).toBe(true);
  });
});
