import type { TasksetConfig } from '@trinity-rft/config';
import { defaultFormatArgs } from '@trinity-rft/core';
import { createWorkflowRegistry } from '@trinity-rft/workflow/internal';
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
