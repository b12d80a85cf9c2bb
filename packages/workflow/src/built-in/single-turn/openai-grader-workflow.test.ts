import { ModelError, RewardError, TaskError, type Experience } from '@trinity-rft/core';
import { describe, expect, it } from 'vitest';
import { createWorkflowRegistry } from '../../registries.js';
import { scriptedModel, type ScriptedAnswer } from '../../scripted/scripted-model.js';
import { tryWorkflow, workflowContext } from '../../scripted/try-workflow.js';

const definition = createWorkflowRegistry().get('openai_grader_workflow');

const exact = {
  type: 'string_check',
  name: 'exact',
  input: '{{ sample.output_text }}',
  reference: '{{ item.answer }}',
  operation: 'eq',
};
const judge = {
  type: 'score_model',
  name: 'judge',
  model: 'gpt-4.1',
  input: [{ role: 'user', content: 'Rate {{ sample.output_text }}.' }],
};
const row = {
  messages: [
    { role: 'developer', content: 'Answer briefly.' },
    { role: 'user', content: [{ type: 'text', text: 'Capital of France?' }] },
  ],
  answer: 'Paris',
};

interface Given {
  readonly rawTask?: Readonly<Record<string, unknown>>;
  readonly answer?: ScriptedAnswer;
  readonly verdict?: ScriptedAnswer;
  readonly args?: object;
}

async function run(grader: unknown, given: Given = {}) {
  const { rawTask = row, answer = 'Paris', verdict, args } = given;
  const model = scriptedModel({ answers: [answer] });
  const big = scriptedModel({ answers: verdict === undefined ? [] : [verdict], modelPath: 'big' });
  const [experience] = (await tryWorkflow(definition, {
    rawTask,
    model,
    auxiliaryModels: verdict === undefined ? {} : { 'gpt-4.1': big },
    task: { workflowArgs: { grader, ...args }, rolloutArgs: { temperature: 0.5 } },
  })) as readonly Experience[];
  return { experience: experience!, asked: model.calls[0]!, judged: big.calls[0] };
}

describe('openai_grader_workflow', () => {
  it('sends the messages of the row, and scores the answer by its grader', async () => {
    const { experience, asked } = await run(exact);
    expect(experience).toEqual(
      expect.objectContaining({ reward: 1, metrics: {}, promptText: 'Capital of France?' }),
    );
    expect(asked.messages).toEqual(row.messages);
    expect(asked.options).toMatchObject({ n: 1, temperature: 0.5 });
    expect((await run(exact, { answer: 'Lyon' })).experience.reward).toBe(0);
  });

  it('tells the grader why the answer ended', async () => {
    const ended = { ...exact, input: '{{ sample.choices[0].finish_reason }}', reference: 'length' };
    const answer = { responseText: 'Paris', finishReason: 'length' } as const;
    expect((await run(ended, { answer })).experience.reward).toBe(1);
    expect((await run(ended)).experience.reward).toBe(0);
  });

  it('offers the tools of the row, and stores the parts of multi as metrics', async () => {
    const tools = [{ type: 'function', function: { name: 'capital', parameters: {} } }];
    const called = '{{ sample.output_tools[0].function.name }}';
    const { experience, asked } = await run(
      {
        type: 'multi',
        graders: {
          tool: { ...exact, input: called, reference: '{{ item.tool }}' },
          place: { ...exact, input: '{{ sample.output_tools[0].function.arguments }}', operation: 'like' }, // prettier-ignore
        },
        calculate_output: '0.25 * tool + 0.75 * place',
      },
      {
        rawTask: { ...row, tools, tool: 'capital', answer: 'France', parallel_tool_calls: false },
        answer: { toolCalls: [{ name: 'capital', arguments: { of: 'Italy' } }] },
      },
    );
    expect(experience).toMatchObject({ reward: 0.25, metrics: { tool: 1, place: 0 } });
    expect(asked.options.tools).toEqual(tools);
  });

  it('asks the auxiliary model that the grader names', async () => {
    const { experience, judged } = await run(judge, { verdict: '{"result": 0.75}' });
    expect(experience.reward).toBe(0.75);
    expect(judged!.messages).toEqual([{ role: 'user', content: 'Rate Paris.' }]);
  });

  it.each([
    ['an answer that the grader cannot read', { ...exact, input: '{{ sample.output_json.city }}' }, {}, 'the answer is not JSON'],
    ['a verdict that is none', judge, { verdict: 'Good.' }, 'answered "Good."; expected {"result": a number from 0 to 1}'],
    ['a model that is down', judge, { verdict: new ModelError('Down.', { status: 400 }) }, 'The model "gpt-4.1" of the grader "judge" failed'],
  ] as const)('fails with %s, and gives no 0', async (_, grader, given, text) => {
    const failed = run(grader, given);
    await expect(failed).rejects.toThrow(RewardError);
    await expect(failed).rejects.toThrow(text);
  }); // prettier-ignore

  it('fails without the auxiliary model', async () => {
    await expect(run(judge)).rejects.toThrow('add it to explorer.auxiliary_models');
  });

  it('runs Python code only where it is allowed', async () => {
    const source = 'def grade(sample, item): return 0.5';
    const python = { type: 'python', name: 'mine', source };
    expect(definition.checkArgs!({ grader: python })).toEqual([
      { path: ['python_graders'], message: expect.stringMatching(/^is not set, expected true: /) },
    ]);
    expect(definition.checkArgs!({ grader: python, python_graders: true })).toEqual([]);
    const { experience } = await run(python, { args: { python_graders: true } });
    expect(experience.reward).toBe(0.5);
    expect(definition.needs!.byArgs!({ grader: exact })).toEqual({});
    expect(definition.needs!.byArgs!({ grader: python, python_graders: true })).toHaveProperty(
      'python',
    );
  });

  it('names wrong arguments by their place', () => {
    const problems = definition.checkArgs!({
      grader: { ...exact, input: '{{ row.x }}', strict: true },
      python_grader: true,
    });
    expect(problems.map(({ path }) => path.join('.')).toSorted()).toEqual([
      'grader.input',
      'grader.strict',
      'python_grader',
    ]);
    expect(definition.checkArgs!({})).toMatchObject([{ path: ['grader'] }]);
    expect(definition.needs!.models!({ grader: judge })).toEqual(['gpt-4.1']);
  });

  it.each([
    [{ messages: undefined }, 'messages: '],
    [{ messages: [{ role: 'assistant', content: 'x' }] }, 'not from user or developer'],
    [{ messages: [{ role: 'human', content: 'x' }] }, 'messages.0.role: '],
    [{ messages: [{ role: 'user', content: [{ type: 'image_url' }] }] }, 'expected text, or parts'],
    [{ tools: [{ name: 'x' }] }, 'tools.0.'],
    [{ answer: undefined }, 'The grader reads item.answer, which is not there'],
  ])('refuses a row with %j before the run', (over, text) => {
    const rawTask = { ...row, ...over };
    const model = scriptedModel({ answers: [] });
    const { task } = workflowContext({ rawTask, model, task: { workflowArgs: { grader: exact } } });
    const check = (): void => definition.needs!.readRow!(task);
    expect(check).toThrow(TaskError);
    expect(check).toThrow(text);
  });
});
