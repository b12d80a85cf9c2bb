import type { Experience, RewardFn } from '@trinity-rft/core';
import type { Vocabulary } from '@trinity-rft/core/internal';
import { describe, expect, it } from 'vitest';
import { createWorkflowRegistry } from '../../registries.js';
import { scriptedModel, type ScriptedModelOptions } from '../../scripted/scripted-model.js';
import { tryWorkflow } from '../../scripted/try-workflow.js';
import { assertSameVocabulary } from './same-vocabulary.js';

const rawTask = { prompt: '1+1', response: '2' };

interface Tried {
  readonly name?: string;
  readonly answers?: readonly string[];
  readonly teacher?: Partial<ScriptedModelOptions>;
  readonly student?: Partial<ScriptedModelOptions>;
  readonly workflowArgs?: Readonly<Record<string, unknown>>;
  readonly rewardFn?: RewardFn;
}

async function distill({
  name = 'on_policy_distill_workflow',
  answers = ['2'],
  teacher,
  student,
  workflowArgs = {},
  rewardFn,
}: Tried) {
  const model = scriptedModel({ answers, ...student });
  const experiences = await tryWorkflow(createWorkflowRegistry().get(name), {
    rawTask,
    model,
    auxiliaryModels: teacher
      ? {
          helper: scriptedModel({ answers: [] }),
          teacher: scriptedModel({ answers: [], ...teacher }),
        }
      : {},
    ...(rewardFn && { rewardFn }),
    task: {
      workflowArgs: { ...(teacher && { teacher: 'teacher' }), ...workflowArgs },
      repeatTimes: answers.length,
    },
  });
  return { model, experiences: experiences as readonly Experience[] };
}

describe('on_policy_distill_workflow', () => {
  it("gives each answer the teacher's log-probabilities of its own tokens, and the sum of the differences as a metric", async () => {
    const seen: unknown[] = [];
    const score = (tokens: Int32Array, promptLength: number) => {
      seen.push([tokens.length - promptLength, promptLength]);
      return Array.from({ length: tokens.length - promptLength }, (_, t) => -0.5 - t);
    };
    const { experiences } = await distill({ answers: ['2', '22'], teacher: { score } });
    const [first, second] = experiences;
    // The script's log-probabilities are -0.25, of the text and of its end.
    expect([...first!.teacherLogprobs!]).toEqual([-0.5, -1.5]);
    expect(first).toMatchObject({ reward: 0, metrics: { kl_divergence: 1.5 }, eid: { run: 0 } });
    expect([...second!.teacherLogprobs!]).toEqual([-0.5, -1.5, -2.5]);
    expect(second!.eid.run).toBe(1);
    expect(seen).toEqual([
      [2, first!.promptLength],
      [3, second!.promptLength],
    ]);
  });

  it('takes the reward of the reward function where the task names one', async () => {
    const { experiences } = await distill({
      teacher: {},
      rewardFn: () => ({ accuracy: 1, style: 0.5 }),
    });
    expect(experiences[0]).toMatchObject({
      reward: 1.5,
      metrics: { accuracy: 1, style: 0.5, kl_divergence: 0 },
    });
  });

  it('says that there is no teacher, or none of that name', async () => {
    await expect(distill({})).rejects.toThrow(
      'None is configured: add it to explorer.auxiliary_models.',
    );
    await expect(distill({ teacher: {}, workflowArgs: { teacher: 'teecher' } })).rejects.toThrow(
      'Did you mean "teacher"?',
    );
    await expect(distill({ teacher: {}, workflowArgs: { teacher: true } })).rejects.toThrow(
      'workflow_args.teacher: got true',
    );
    await expect(distill({ teacher: {}, workflowArgs: { temperature: 0 } })).rejects.toThrow(
      'workflow_args.temperature: got 0',
    );
  });

  it('rejects a teacher with other tokens before anything is sampled', async () => {
    const student = { vocabulary: vocabulary('a', 'b', 'c'), modelPath: 'small' };
    const failed = distill({
      student,
      teacher: { vocabulary: vocabulary('a', 'c'), modelPath: 'big' },
    });
    await expect(failed).rejects.toThrow(
      'The teacher "big" has another tokenizer than "small": token 1 of 3 is "b" for the model and "c" for the teacher, which has 2 tokens.',
    );
    await expect(failed).rejects.toMatchObject({ code: 'VOCABULARY_MISMATCH' });
  });
});

it('on_policy_distill_math_workflow asks as evaluations do, and rewards right answers', async () => {
  const { experiences, model } = await distill({
    name: 'on_policy_distill_math_workflow',
    answers: ['so \\boxed{2}', 'so \\boxed{3}'],
    teacher: {},
  });
  expect(experiences.map(({ reward, metrics }) => [reward, metrics['accuracy']])).toEqual([
    [1, 1],
    [0, 0],
  ]);
  expect(model.calls[0]!.messages).toEqual([
    { role: 'system', content: 'You are a helpful assistant.' },
    {
      role: 'user',
      content: '1+1\nPlease reason step by step, and put your final answer within \\boxed{}.',
    },
  ]);
});

function vocabulary(...tokens: readonly (string | undefined)[]): Vocabulary & { asked: number } {
  const made = { size: tokens.length, asked: 0, token: (id: number) => (made.asked++, tokens[id]) };
  return made;
}

describe('assertSameVocabulary', () => {
  const check = (student: Vocabulary | undefined, teacher: Vocabulary | undefined): void =>
    assertSameVocabulary(
      { modelPath: 'student', vocabulary: student },
      { modelPath: 'teacher', vocabulary: teacher },
    );

  it('accepts a teacher with more tokens, and unused ids', () => {
    check(vocabulary('a', undefined, 'c'), vocabulary('a', 'b', 'c', 'd'));
    expect(() => check(vocabulary('a', 'b'), vocabulary('a'))).toThrow(
      'token 1 of 2 is "b" for the model and missing for the teacher',
    );
  });

  it('looks at two vocabularies once, and believes a remote teacher', () => {
    const [student, teacher] = [vocabulary('a', 'b'), vocabulary('a', 'b')];
    check(student, teacher);
    const { asked } = student;
    check(student, teacher);
    check(student, undefined);
    expect([student.asked, asked]).toEqual([2, 2]);
  });
});
