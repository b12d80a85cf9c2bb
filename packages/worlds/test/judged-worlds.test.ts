/** Tests environments whose answers a judge compares, over HTTP. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import type { Experience, RawTask, Task } from '@trinity-rft/core';
import { createEnvironments } from '@trinity-rft/environment/playing';
import { scriptedModel, tryWorkflow, type ScriptedAnswer } from '@trinity-rft/workflow';
import { createRemoteModel } from '@trinity-rft/workflow';
import { expect, it, onTestFinished } from 'vitest';
import { builtInEnvironments } from '../src/index.js';
import { environmentWorkflow, worldWorkflows } from '../src/index.js';

const environments = createEnvironments(builtInEnvironments);
const workflows = [...worldWorkflows(environments), environmentWorkflow(environments)];
const workflowOf = (name: string) => {
  const found = workflows.find((each) => each.name === name);
  if (found === undefined) throw new RangeError(`There is no workflow ${name}.`);
  return found;
};

/** Starts a model server; a number among the answers is an error status. */
async function serveJudge(answers: readonly (string | number)[]) {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    void json(request).then((body) => {
      const { messages } = body as { readonly messages: readonly { readonly content: string }[] };
      const answer = answers[asked.length] ?? 500;
      asked.push(messages.map(({ content }) => content).join('\n'));
      const message = { role: 'assistant', content: answer, refusal: null };
      const choices = [{ index: 0, finish_reason: 'stop', message }];
      const reply = typeof answer === 'number' ? { error: { message: 'down' } } : { choices };
      response
        .writeHead(typeof answer === 'number' ? answer : 200, {
          'content-type': 'application/json',
        })
        .end(JSON.stringify(reply));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => (server.closeAllConnections(), void server.close()));
  const baseURL = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
  const limits = { timeoutMs: 60_000, maxRetries: 0 };
  return { asked, judge: createRemoteModel({ baseURL, apiKey: 'k', modelPath: 'big', ...limits }) };
}

interface Played {
  readonly workflow: string;
  readonly row?: RawTask;
  readonly does: (row: Readonly<Record<string, string>>) => ScriptedAnswer;
  readonly says: readonly (string | number)[];
  readonly args?: Readonly<Record<string, unknown>>;
  readonly rewardFnArgs?: Readonly<Record<string, unknown>>;
}

async function play({ workflow, row, does, says, args = {}, rewardFnArgs = {} }: Played) {
  const { asked, judge } = await serveJudge(says);
  const definition = workflowOf(workflow);
  const range = { split: 'train', count: 1, seed: 5 } as const;
  const [rawTask = {}] = row === undefined ? (definition.tasks?.(args, range) ?? []) : [row];
  const experiences = (await tryWorkflow(definition, {
    model: scriptedModel({ answers: [does(rawTask as Readonly<Record<string, string>>)] }),
    auxiliaryModels: { judge },
    rawTask,
    task: { workflowArgs: args, rewardFnArgs },
  })) as readonly Experience[];
  return { reward: experiences.at(-1)?.reward, asked, rawTask };
}

const answers = (name: string, answer: string) => (): ScriptedAnswer => ({
  toolCalls: [{ name, arguments: { answer } }],
});
const email = { workflow: 'email_search_workflow', does: answers('generate_response', 'as said') };
const search = {
  workflow: 'agentscope_v1_react_search_workflow',
  does: answers('answer', 'as said'),
};
const consultation = {
  messages: [{ role: 'user', content: 'It itches.' }],
  info_truth: 'since when it itches',
};
const doctor = {
  workflow: 'learn2ask_workflow',
  row: consultation,
  does: () => 'Did it come fast?',
};
const scores = (format: number, content: number) =>
  `Fine. <format_score>${format}</format_score><content_score> ${content}</content_score>`;

it.each<[Played, number]>([
  [{ ...email, says: ['true'] }, 2.09],
  [{ ...email, says: ['That is not false.'] }, 2.09],
  [{ ...email, says: ['Not true, so: false'] }, -1],
  [{ ...email, says: [], args: { judge: false } }, -1],
  [{ ...email, says: [], rewardFnArgs: { llm_as_a_judge: false } }, -1],
  [{ ...search, says: ['They agree. **Correctness**: YES'] }, 1],
  [{ ...search, says: ['Correctness: YES is what it says itself. Correctness: NO'] }, 0],
  [{ ...doctor, says: [scores(0.5, 1)] }, 3.5],
  [{ ...doctor, says: ['Hm.', scores(1, 0.5)] }, 3],
  [{ ...doctor, says: [scores(1, 0.5)], args: { train_mode: 'Ra' } }, 2],
  [{ ...doctor, says: [scores(1, 0.5)], args: { train_mode: 'Rs' } }, 4],
  [{ ...doctor, says: [scores(1, 0.5)], args: { fusion_mode: 'sum' } }, 2.5],
  [{ ...doctor, says: [], does: () => '<stop />' }, 0],
])('pays what the verdict is worth in Trinity-RFT: %j', async (played, reward) => {
  const { asked, reward: paid } = await play(played);
  expect(paid).toBeCloseTo(reward);
  expect(asked).toHaveLength(played.says.length);
});

it('shows the judge question, reference and answer, and no tool output', async () => {
  const { asked, rawTask } = await play({ ...email, says: ['true'] });
  for (const text of [rawTask['question'], rawTask['answer'], 'as said'])
    expect(asked[0]).toContain(`>\n${String(text)}\n<`);
});

it.each<[Played['says'], RegExp]>([
  [
    ['Perhaps.', 'Who knows?'],
    /The judge "big" of explorer.auxiliary_models gave no verdict: the judge answered "Who knows\?"/,
  ],
  [[500, 500], /gave no verdict: .*down/],
  [[400], /gave no verdict/],
])(
  'counts a judge that says %j as a broken environment, never as a reward',
  async (says, message) => {
    for (const judged of [email, search, doctor]) {
      const played = play({ ...judged, says });
      await expect(played).rejects.toMatchObject({
        name: 'EnvironmentError',
        code: 'JUDGE_FAILED',
      });
      await expect(played).rejects.toThrow(message);
    }
  },
);

it('says who grades, and what it cannot do', () => {
  const grader = (
    name: string,
    args: Readonly<Record<string, unknown>>,
    models: readonly string[],
  ) => workflowOf(name).grader?.(args, { models, rewardFnArgs: {} });
  const world = { environment: 'email_search' };
  expect(grader('email_search_workflow', {}, ['big', 'small'])).toEqual({ text: 'the judge big' });
  expect(grader('environment_workflow', { ...world, judge: 1 }, ['big', 'small'])?.text).toBe(
    'the judge small',
  );
  expect(grader('environment_workflow', world, [])).toEqual({ text: 'words' });
  expect(grader('learn2ask_workflow', {}, [])?.warning).toMatch(/no judge as in Trinity-RFT/);
  expect(grader('learn2ask_workflow', { judge: false }, ['big'])).toEqual({ text: 'words' });
  expect(grader('environment_workflow', { environment: 'sudoku' }, ['big'])).toBeUndefined();
  const asked = { environment: 'sudoku', judge: 'big' };
  expect(workflowOf('environment_workflow').checkArgs?.(asked)).toMatchObject([
    {
      path: ['judge'],
      message: 'got "big", but the environment sudoku asks no judge. Leave it out.',
    },
  ]);
});

it('does not grade consultations of others by the words of its own', async () => {
  const played = play({ ...doctor, says: [], args: { judge: false } });
  await expect(played).rejects.toThrow(/"since when it itches".*add a judge/);
});

it.each([
  ['learn2ask_workflow', {}],
  ['environment_workflow', { environment: 'learn_to_ask' }],
])('checks rows of %s for the grader that the run has', async (workflow, workflowArgs) => {
  const rawTask = {
    messages: [{ role: 'user', content: 'My ear hurts.' }],
    info_truth: ['pain when swallowing'],
  };
  const check = (args: RawTask, rewardFnArgs: RawTask, models?: readonly string[]) => {
    const task = { rawTask, workflowArgs: { ...workflowArgs, ...args }, rewardFnArgs };
    const { signal } = new AbortController();
    return workflowOf(workflow).checkRow?.(task as unknown as Task, signal, models);
  };
  await check({}, {});
  await check({}, {}, ['big']);
  await expect(check({}, {}, [])).rejects.toThrow(/Without a judge/);
  await expect(check({ judge: false }, {}, ['big'])).rejects.toThrow(/Without a judge/);
  await expect(check({}, { llm_as_a_judge: false }, ['big'])).rejects.toThrow(/Without a judge/);
});
