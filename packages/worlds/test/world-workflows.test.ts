/** Tests Trinity-RFT's workflows, played by the solver of each environment instead of a policy. */
import {
  type Experience,
  type RawTask,
  type Task,
  createRuntime,
  defaultFormatArgs,
} from '@trinity-rft/core';
import { type Action, defineEnvironment } from '@trinity-rft/environment';
import { createEnvironments, drivers } from '@trinity-rft/environment/playing';
import { scriptedModel, tryWorkflow, type ScriptedAnswer } from '@trinity-rft/workflow';
import { manualClock } from '@trinity-rft/testing';
import { expect, it, onTestFinished, vi } from 'vitest';
import { builtInEnvironments } from '../src/index.js';
import { environmentWorkflow, worldWorkflows } from '../src/index.js';
import { threeTags } from '../src/workflows/raft.js';

const environments = createEnvironments([...drivers, ...builtInEnvironments]);
const workflows = worldWorkflows(environments);
const workflowOf = (name: string) => {
  const found = workflows.find((each) => each.name === name);
  if (found === undefined) throw new RangeError(`There is no workflow ${name}.`);
  return found;
};

/** Text with which a policy writes the action in this format. */
function written(action: Action, format: string): ScriptedAnswer {
  if (action.type === 'text') return format.replace('{action}', action.text);
  return { toolCalls: [{ name: action.name, arguments: action.arguments }] };
}

async function play(
  name: string,
  answers: readonly ScriptedAnswer[] | (() => ScriptedAnswer),
  rawTask: RawTask,
) {
  const model = scriptedModel({ answers });
  const result = await tryWorkflow(workflowOf(name), { model, rawTask });
  return { model, experiences: result as readonly Experience[] };
}

/** The solver's actions for the first generated task of the workflow's world. */
function solved(name: string, world: string, args: RawTask) {
  const workflow = workflowOf(name);
  expect(workflow.checkArgs?.({})).toEqual([]);
  const [row = {}] = workflow.tasks?.({}, { split: 'train', count: 1, seed: 5 }) ?? [];
  const next = environments.get(world).solver?.({ row, seed: 0 }, args) ?? (() => undefined);
  const actions: Action[] = [];
  for (let action = next(''); action !== undefined; action = next('')) actions.push(action);
  return { row, actions };
}

const raftFormat =
  '<experience>Look around.</experience><think>Now.</think><action>{action}</action>';
/** Thoughts that mention tags of the format. */
const raftTags = [
  'As I wrote under <experience>, now.',
  'As in <experience>...</experience>, now.',
  'I keep <think> short, and <experience>.',
].map((thought) => raftFormat.replace('Now.', thought));

it.each<[string, string, RawTask, string, number]>([
  ['alfworld_workflow', 'household', {}, '<action>{action}</action>', 1],
  ['step_wise_alfworld_workflow', 'household', {}, '<action>{action}</action>', 1],
  ['RAFT_alfworld_workflow', 'household', {}, raftFormat, 1],
  ...raftTags.map((format): [string, string, RawTask, string, number] => [
    'RAFT_alfworld_workflow',
    'household',
    {},
    format,
    1,
  ]),
  ['RAFT_reflect_alfworld_workflow', 'household', {}, raftFormat, 1],
  ['sudoku_workflow', 'sudoku', { answer: 'moves' }, '<answer>{action}</answer>', 1],
  ['email_search_workflow', 'email_search', {}, '', 2.47],
  ['learn2ask_workflow', 'learn_to_ask', {}, '{action}', 4],
  ['intercode_sql_workflow', 'intercode_sql', {}, '<action>{action}</action>', 1],
  ['agentscope_v1_react_search_workflow', 'web_search', {}, '', 1],
])('plays %s', async (name, world, args, format, reward) => {
  const { row, actions } = solved(name, world, args);
  const answers = actions.map((action) => written(action, format));
  const { experiences } = await play(name, answers, row);
  expect(experiences.length).toBeGreaterThan(0);
  expect(experiences.at(-1)?.reward).toBeCloseTo(reward);
});

it('plays frozen_lake_workflow on rows of Trinity-RFT', async () => {
  const row = { size: 2, p: 1, seed: 3, index: 0, uid: '3_2_1' };
  const moves = ['Up', 'Left', 'Down', 'Right', 'Up', 'Left'];
  const { experiences } = await play(
    'frozen_lake_workflow',
    moves.map((move) => `\`\`\`${move}\`\`\``),
    row,
  );
  expect(experiences.at(-1)?.reward).toBe(1);
});

it('plays webshop_workflow, with -0.1 for leaving without a purchase', async () => {
  const [row = {}] =
    workflowOf('webshop_workflow').tasks?.({}, { split: 'train', count: 1, seed: 1 }) ?? [];
  const { experiences, model } = await play('webshop_workflow', () => 'Hm.', row);
  expect(experiences.map(({ reward }) => reward)).toEqual(Array.from({ length: 15 }, () => -0.1));
  expect(model.calls).toHaveLength(15);
});

it('plays webshop_workflow on sessions, the same goal for the same number', async () => {
  const first = async (task_id: number) => {
    const model = scriptedModel({ answers: () => 'Hm.' });
    const task = { formatArgs: { ...defaultFormatArgs, promptKey: 'task_id' } };
    await tryWorkflow(workflowOf('webshop_workflow'), { model, rawTask: { task_id }, task });
    return model.calls[0]?.messages;
  };
  expect(await first(7)).toEqual(await first(7));
  expect(await first(7)).not.toEqual(await first(8));
});

it('gives a second attempt that sees the first, and trains nothing of two failures', async () => {
  const name = 'RAFT_reflect_alfworld_workflow';
  const { row, actions } = solved(name, 'household', {});
  const right = actions.map((action) => written(action, raftFormat));
  const lost = Array.from({ length: 50 }, () => '<action>look</action>');
  const second = await play(name, [...lost, ...right], row);
  expect(second.experiences).toHaveLength(right.length);
  expect(second.experiences.at(-1)?.reward).toBe(1);
  expect(JSON.stringify(second.model.calls[50]?.messages[0])).toContain('1. <action>look</action>');
  const failed = await play(name, () => '<action>look</action>', row);
  expect(failed.experiences.every(({ actionMask }) => actionMask.every((mask) => mask === 0))).toBe(
    true,
  );
});

it.each([
  '<experience>a</experience><think>',
  '<experience>a</experience><think>I keep <experience> short',
  '<experience>a</experience><think>b</think><action>',
])('searches a response that repeats %s', (part) => {
  expect(part.repeat(100_000).match(new RegExp(threeTags))).toBeNull();
});

it('refuses the answers of a model that repeats itself up to the token limit', async () => {
  const name = 'RAFT_alfworld_workflow';
  const { row } = solved(name, 'household', {});
  const loop = '<experience>a</experience><think>b</think>'.repeat(200);
  const { experiences, model } = await play(name, () => loop, row);
  expect(JSON.stringify(model.calls.at(-1)?.messages)).toContain('No action found.');
  expect(experiences.at(-1)?.reward).toBe(0);
});

it.each([
  ['looks at the first attempt again', 15_000, 70, (ms: number) => ms >= 950 && ms < 1000],
  ['has no time for a second attempt', 100_000, 10, (ms: number) => ms >= 900 && ms < 1000],
])('ends two attempts within the time of one rollout: %s', async (_, perCall, calls, inTime) => {
  const name = 'RAFT_reflect_alfworld_workflow';
  const { row: rawTask } = solved(name, 'household', {});
  const clock = manualClock();
  const begun = clock.now();
  const scripted = scriptedModel({ answers: () => '<action>look</action>' });
  const model: typeof scripted = {
    ...scripted,
    chat: async (messages, options) => {
      await clock.advance(perCall);
      options?.signal?.throwIfAborted();
      return scripted.chat(messages, { ...options, signal: undefined });
    },
  };
  const runtime = createRuntime({ clock });
  await tryWorkflow(workflowOf(name), { model, rawTask, runtime, timeLimitMs: 1_000_000 });
  expect((clock.now() - begun) / 1000).toSatisfy(inTime);
  expect(scripted.calls.length).toBeLessThanOrEqual(calls);
});

it("says what to do with rows of ALFWorld's own games", async () => {
  await expect(play('alfworld_workflow', ['x'], { game_file: '/games/a.tw-pddl' })).rejects.toThrow(
    /names the game "\/games\/a\.tw-pddl", which is ALFWorld's.*storage_type: generated/,
  );
});

it('counts the last query of intercode_sql_workflow without submit, unless auto_submit is off', async () => {
  const { row, actions } = solved('intercode_sql_workflow', 'intercode_sql', {});
  const [query] = actions.map((action) => written(action, '<action>{action}</action>'));
  const { experiences } = await play('intercode_sql_workflow', () => query ?? '', row);
  expect(experiences).toHaveLength(10);
  expect(experiences.at(-1)?.reward).toBe(1);
});

it.each([
  ['alfworld_workflow', { game_file: '/games/a.tw-pddl' }, /ALFWorld's.*storage_type: generated/],
  ['RAFT_alfworld_workflow', { game_file: 'a' }, /ALFWorld's.*storage_type: generated/],
  ['intercode_sql_workflow', { query_idx: 3 }, /question 3 of InterCode.*storage_type: generated/],
  [
    'email_search_workflow',
    { question: 'Who?', answer: 'Ann', message_ids: ['<1@enron>'] },
    /not that of Enron\. Set storage_type: generated/,
  ],
  ['webshop_workflow', { seed: 1 }, /does not fit|session/],
])('finds before the run that %s cannot play the rows of the original', async (name, row, says) => {
  const { checkRow, tasks } = workflowOf(name);
  const { signal } = new AbortController();
  const taskOf = (rawTask: RawTask) =>
    ({
      rawTask,
      workflowArgs: {},
      rewardFnArgs: {},
      formatArgs: defaultFormatArgs,
    }) as unknown as Task;
  await expect(checkRow?.(taskOf(row), signal)).rejects.toThrow(says);
  const [own = {}] = tasks?.({}, { split: 'train', count: 1, seed: 0 }) ?? [];
  await expect(checkRow?.(taskOf(own), signal)).resolves.toBeUndefined();
});

it('warns that it does not check a row of an environment that starts slowly', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const slow = defineEnvironment({
    name: 'web_search',
    description: 'Reads a large folder.',
    open: () => new Promise(() => undefined),
  });
  const { checkRow } = environmentWorkflow(createEnvironments([slow]));
  const task = {
    rawTask: {},
    workflowArgs: { environment: 'web_search' },
    rewardFnArgs: {},
    formatArgs: defaultFormatArgs,
  } as unknown as Task;
  const warn = vi.fn<(reason: string) => void>();
  const checked = checkRow?.(task, new AbortController().signal, undefined, warn);
  const [outcome] = await Promise.allSettled([checked, vi.advanceTimersByTimeAsync(30_000)]);
  expect(outcome).toEqual({ status: 'fulfilled', value: undefined });
  expect(warn.mock.calls).toEqual([['web_search did not start within 30 s.']]);
});

it('says which argument is wrong', () => {
  expect(workflowOf('frozen_lake_workflow').checkArgs?.({ agent_max_steps: 0 })).toHaveLength(1);
  const lake = { desc: ['SG', 'FF'], is_slippery: false };
  expect(workflowOf('frozen_lake_workflow').checkArgs?.(lake)).toEqual([]);
  expect(
    workflowOf('frozen_lake_workflow').checkArgs?.({ ...lake, env_max_steps: 3 }),
  ).toMatchObject([{ message: expect.stringContaining('Leave it out') as string }]);
  expect(workflowOf('learn2ask_workflow').checkArgs?.({ fusion_mode: 'SUM' })).toMatchObject([
    { path: ['fusion_mode'] },
  ]);
  const wrong = workflowOf('webshop_workflow').checkArgs?.({ environment_args: { level: 9 } });
  expect(wrong).toMatchObject([{ path: ['environment_args', 'level'] }]);
});

it('reads the rows of sciworld_workflow, and says what is wrong with them', async () => {
  expect(workflowOf('sciworld_workflow').checkArgs?.({})).toEqual([]);
  await expect(play('sciworld_workflow', ['x'], { prompt: '{"task_name": 1}' })).rejects.toThrow(
    /The row of sciworld_workflow is .*format\.prompt_key/,
  );
});
