import type { TasksetConfig } from '@trinity-rft/config';
import { defaultFormatArgs, type RawTask } from '@trinity-rft/core';
import { createRewardRegistry, createWorkflowRegistry } from '@trinity-rft/workflow/internal';
import { expect, it } from 'vitest';
import type { TaskParts } from '../../context/stage-context.js';
import { checkRowKeys } from './check-rows.js';

it('says which texts of the format a workflow does not read', () => {
  const parts = {
    workflows: createWorkflowRegistry(),
    rewardFns: { find: () => undefined },
  } as unknown as TaskParts;
  const warnings = (workflow: string) => {
    const format = { ...defaultFormatArgs, systemPrompt: 'Add.', replyPrefix: 'So' };
    const taskset = { path: 'rows.jsonl', workflow, format } as TasksetConfig;
    const rows = [{ prompt: '1+1', response: '2', messages: [{ role: 'user', content: '1+1' }] }];
    return checkRowKeys(rows, { ...taskset, index: 0 } as TasksetConfig, parts).warnings.filter(
      ({ key }) => key[0] === 'format',
    );
  };
  expect(warnings('simple_workflow')).toEqual([]);
  expect(warnings('react_workflow')).toEqual([
    {
      key: ['format', 'reply_prefix'],
      message: 'has no effect: the workflow "react_workflow" does not read it. Leave it out.',
    },
  ]);
  expect(warnings('openai_grader_workflow').map(({ key }) => key[1])).toEqual([
    'system_prompt',
    'reply_prefix',
  ]);
});

it('says which reward functions and arguments of one have no effect', () => {
  const warnings = (
    workflow: string,
    workflowArgs: object,
    rewardFn?: string,
    over: object = {},
    rows: readonly RawTask[] = [],
  ) => {
    const parts = {
      workflows: createWorkflowRegistry(),
      rewardFns: createRewardRegistry(),
    } as unknown as TaskParts;
    const own = { workflowArgs, rewardFn, namesRewardFn: true };
    const taskset = { path: '', workflow, format: defaultFormatArgs, ...own, ...over };
    const found = checkRowKeys(rows, { ...taskset, index: 0 } as unknown as TasksetConfig, parts);
    return found.warnings.map(({ key, message }) => `${key.join('.')} ${message}`);
  };
  const workflows = ['rubric_judge_workflow', 'rubric_judge_openai_workflow', 'ruler_workflow'];
  for (const workflow of [...workflows, 'openai_grader_workflow']) {
    expect(warnings(workflow, {}, 'math_reward')).toEqual([
      expect.stringMatching(/^default_reward_fn_type has no effect/),
    ]);
    expect(warnings(workflow, {})).toEqual([]);
  }
  expect(warnings('math_ruler_workflow', {}, 'math_reward')).toEqual([]);
  // The default of all task sets is for others, and rows may name workflows that read all settings.
  const isDefault = { namesRewardFn: false };
  expect(warnings('ruler_workflow', {}, 'math_reward', isDefault)).toEqual([]);
  const format = { ...defaultFormatArgs, replyPrefix: 'So', workflowKey: 'wf' };
  const rows = [{ wf: 'math_workflow' }];
  expect(warnings('ruler_workflow', {}, 'math_reward', { format }, rows)).toEqual([]);
  const args = { format_score_coef: 1 };
  expect(warnings('math_boxed_workflow', args, 'math_reward', { format }, rows)).toEqual([]);
  for (const [workflow, arg] of [
    ['math_boxed_workflow', 'format_score_coef'],
    ['math_eval_workflow', 'checker'],
  ] as const) {
    expect(warnings(workflow, { [arg]: 1 }, 'math_reward')).toEqual([
      expect.stringMatching(
        `^workflow_args.${arg} has no effect: the reward function "math_reward"`,
      ),
    ]);
    expect([...warnings(workflow, { [arg]: 1 }), ...warnings(workflow, {}, 'x')]).toEqual([]);
  }
});
