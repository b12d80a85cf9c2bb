import { type Experience, defaultFormatArgs } from '@trinity-rft/core';
import { describe, expect, it } from 'vitest';
import { createWorkflowRegistry } from '../../registries.js';
import { scriptedModel } from '../../scripted/scripted-model.js';
import { tryWorkflow } from '../../scripted/try-workflow.js';

const rawTask = { prompt: '1+1', response: '2' };

describe('math_boxed_workflow', () => {
  it('gives a base model plain text, without the chat template', async () => {
    const model = scriptedModel({ answers: ['\\boxed{2}', '3'] });
    const experiences = (await tryWorkflow(createWorkflowRegistry().get('math_boxed_workflow'), {
      rawTask,
      model,
      task: {
        workflowArgs: { use_base: true },
        formatArgs: { ...defaultFormatArgs, systemPrompt: 'Box it.' },
        repeatTimes: 2,
      },
    })) as readonly Experience[];
    expect(model.calls.map(({ messages }) => messages)).toEqual([
      [{ role: 'user', content: 'System:Box it.\nUser:\n1+1\nAssistant:\n' }],
    ]);
    expect(experiences.map(({ reward, eid }) => [reward, eid.run])).toEqual([
      [1, 0],
      [0, 1],
    ]);
  });

  it.each([
    ['user', 'System:Add.\nUser:\n1+1\nAssistant:\n'],
    ['assistant', 'System:Add.\nAssistant:\n1+1'],
  ])('gives a base model a list of messages as plain text: %s', async (role, text) => {
    const model = scriptedModel({ answers: ['\\boxed{2}'] });
    const prompt = [
      { role: 'system', content: 'Add.' },
      { role, content: '1+1' },
    ];
    await tryWorkflow(createWorkflowRegistry().get('bots_math_boxed_workflow'), {
      rawTask: { ...rawTask, prompt },
      model,
      task: { workflowArgs: { use_base: true } },
    });
    expect(model.calls[0]?.messages).toEqual([{ role: 'user', content: text }]);
  });

  it('has the system prompt of the format before a list of messages', async () => {
    const model = scriptedModel({ answers: ['\\boxed{2}'] });
    const given = { systemPromptKey: 'system', systemPrompt: 'Box it.', replyPrefix: 'So' };
    await tryWorkflow(createWorkflowRegistry().get('bots_math_boxed_workflow'), {
      rawTask: {
        ...rawTask,
        prompt: [
          { role: 'system', content: 'Add.' },
          { role: 'user', content: '1+1' },
        ],
        system: 'Sum.',
      },
      model,
      task: { formatArgs: { ...defaultFormatArgs, ...given } },
    });
    expect(model.calls[0]?.messages.map(({ content }) => content)).toEqual(['Sum.', '1+1', 'So']);
  });

  it('wants the answer in a box, and a thought where one is asked for', async () => {
    const run = async (
      answer: string,
      workflowArgs: Readonly<Record<string, unknown>>,
    ): Promise<unknown> => {
      const model = scriptedModel({ answers: [answer] });
      const experiences = await tryWorkflow(createWorkflowRegistry().get('math_boxed_workflow'), {
        rawTask,
        model,
        task: { workflowArgs },
      });
      return [
        (experiences as readonly Experience[])[0]?.reward,
        JSON.stringify(model.calls[0]?.messages[0]).includes('<think>'),
      ];
    };
    expect(await run('\\boxed{2}', {})).toEqual([1, false]);
    expect(await run('2', {})).toEqual([0, false]);
    expect(await run('\\boxed{2}', { with_think: true, format_score_coef: 0.25 })).toEqual([
      0.75,
      true,
    ]);
    expect(await run('<think>so</think>\\boxed{2}', { with_think: true })).toEqual([1, true]);
    await expect(run('', { use_base: 'yes' })).rejects.toThrow(
      'workflow_args.use_base: got "yes", expected true or false.',
    );
  });
});
