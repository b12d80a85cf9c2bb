import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { openWorld } from '@trinity-rft/launcher/parts';
import { afterAll, expect, it, onTestFinished, vi } from 'vitest';
import { unknownKeys } from '../src/commands/env/play.js';
import { playByHand } from '../src/commands/env/play-by-hand.js';
import { mainHere } from './support/main-here.js';

const root = mkdtempSync(path.join(tmpdir(), 'trinity-env-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));

/** Plugin with an environment that has neither a solver nor tasks. */
const plugin = path.join(root, 'plugin.mjs');
writeFileSync(
  plugin,
  `import { defineEnvironment, nativeEnvironment } from '@trinity-rft/environment';
const step = ({ type, text }) => text === 'left'
  ? { observation: 'a wall', refused: true, done: false }
  : { observation: 'dark', reward: 0.5, done: type === 'tool' };
const tools = [{ type: 'function', function: { name: 'leave', parameters: { properties: {} } } }];
export const cave = defineEnvironment({ name: 'cave', description: 'A cave.',
  open: () => nativeEnvironment(() => ({ observation: 'dim', tools, step, grade: () => 0.25 })) });
const steps = {
  right: { observation: 'over', reward: 0.75, done: true },
  wrong: { observation: 'over', reward: -1, done: true },
  graded: { observation: 'over', done: true },
  lost: { observation: 'on', reward: 1, done: false },
};
export const quiz = defineEnvironment({ name: 'quiz', description: 'A quiz.',
  play: { reward: 'last', maxTurns: 3 },
  tasks: ({ count }) => Object.keys(steps).slice(0, count).map((says) => ({ says })),
  solver: ({ row }) => (seen) => ({ type: 'text', text: seen === '?' ? 'hm' : row.says }),
  open: () => nativeEnvironment(() => ({ observation: '?', grade: () => 0.25,
    step: ({ text }) => steps[text] ?? { observation: 'Go on.', reward: 5, done: false } })) });
export const desk = defineEnvironment({ name: 'desk', description: 'A desk.',
  tasks: ({ count }) => ['cut', 'endless', 'graded'].slice(0, count).map((says) => ({ says })),
  solver: ({ row }) => (seen) => seen === '?' || row.says === 'endless'
    ? { type: 'text', text: row.says } : undefined,
  open: () => nativeEnvironment(() => ({ observation: '?', grade: () => 0.5,
    step: ({ text }) => ({ observation: 'on', reward: 1, done: text === 'cut', truncated: text === 'cut' }),
    close: () => { throw new Error('stuck') } })) });
export const mute = defineEnvironment({ name: 'mute', description: 'Never answers.',
  tasks: () => [{}], solver: () => () => ({ type: 'text', text: 'a' }),
  open: async () => ({ reset: () => new Promise(() => undefined), close: async () => undefined }) });
export const exam = defineEnvironment({ name: 'exam', description: 'An exam.',
  open: () => nativeEnvironment(() => ({ observation: '?', grade: () => 0.25,
    step: () => steps.graded })) });
`,
);

it('lists environments, those of plugins among them, and describes one', async () => {
  const { stdout } = await mainHere('env', 'list', '--plugin', plugin);
  expect(stdout).toMatch(/^cave +A cave\.$/m);
  expect(stdout).toMatch(/^frozen_lake .*\(generates tasks, has a solver\)$/m);
  expect(stdout).toMatch(/^email_search .*, asks a judge, if there is one\)$/m);
  const info = await mainHere('env', 'info', 'frozen_lake', '--args', '{"level": 1}');
  expect(info.stdout).toMatch(/level: integer from 1 up to 3, default 2/);
  expect(info.stdout).toMatch(/environment_args: \{"level":1\}/);
  expect(info.stdout).toMatch(/You stand on a frozen lake/);
  const desk = await mainHere('env', 'info', 'retail_desk');
  expect(desk.stdout).toMatch(/^Its tools\n\w+ {2}\w.*\n {4}\{"/m);
});

it('tells the arguments of an environment that cannot open without them', async () => {
  const { stdout } = await mainHere('env', 'info', 'openenv');
  expect(stdout).toMatch(/url: string\. http:.*, required/);
  expect(stdout).toMatch(/Give --args to open it\.\n {2}url: is not set/);
});

it('writes tasks, and conversations of the solver', async () => {
  const file = path.join(root, 'solved.jsonl');
  const { stdout } = await mainHere('env', 'solve', 'frozen_lake', '-n', '5', '-o', file);
  expect(stdout).toMatch(/5 rows\nfrozen_lake: the solver played 5 tasks, mean reward 1\.000/);
  const [first = ''] = readFileSync(file, 'utf8').split('\n');
  const { messages } = JSON.parse(first) as { messages: { role: string; content: string }[] };
  expect(messages.map(({ role }) => role).slice(0, 3)).toEqual(['system', 'user', 'assistant']);
  expect(messages.at(-1)?.content).toMatch(/^```(?:left|down|right|up)```$/);
  await mainHere('env', 'solve', 'tool_call', '-n', '1', '-o', file);
  const row = JSON.parse(readFileSync(file, 'utf8')) as { tools: { type: string }[] };
  expect(row.tools[0]?.type).toBe('function');
  const rows = await mainHere('env', 'tasks', 'countdown', '-n', '2', '--split', 'eval');
  expect(rows.stdout.trim().split('\n')).toHaveLength(2);
});

it('writes only conversations that solve their task, with the reward of a rollout', async () => {
  const file = path.join(root, 'quiz.jsonl');
  const args = ['quiz', '-n', '4', '-o', file, '--plugin', plugin];
  const { stdout } = await mainHere('env', 'solve', ...args);
  // The last rewards are 0.75, -1, 5 (before an end without a reward) and 0.25 (the grade).
  expect(stdout).toContain(
    '2 rows\nquiz: the solver played 4 tasks, mean reward 1.250, 2.3 steps a task; 2 of them not solved, which gave no rows\n',
  );
  expect(readFileSync(file, 'utf8').trim().split('\n')).toHaveLength(2);
});

it('keeps a conversation that the solver ends, and fails if none is left', async () => {
  const file = path.join(root, 'desk.jsonl');
  const args = ['desk', '-o', file, '--plugin', plugin];
  const stderr: string[] = [];
  vi.spyOn(process.stderr, 'write').mockImplementation((text) => {
    stderr.push(String(text));
    return true;
  });
  onTestFinished(() => void vi.restoreAllMocks());
  const solved = await mainHere('env', 'solve', ...args, '-n', '3');
  expect(solved.stdout).toMatch(/: 1 rows\ndesk: .* 2 of them not solved/);
  const { messages } = JSON.parse(readFileSync(file, 'utf8')) as { messages: { role: string }[] };
  expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant']);
  expect(stderr[0]).toMatch(/An episode could not be closed: .*stuck/);
  rmSync(file);
  const none = await mainHere('env', 'solve', ...args, '-n', '2');
  expect([none.exitCode, existsSync(file)]).toEqual([1, false]);
});

it.each([['play'], ['solve'], ['serve'], ['test']])(
  'env %s names --timeout for a late answer',
  async (name) => {
    const args = ['mute', '--timeout', '0.05', '--plugin', plugin];
    const { stdout, stderr } = await mainHere('env', name, ...args);
    expect(stdout + stderr).toContain('did not answer reset within 0.05 s (--timeout)');
  },
);

it.each([
  [['play', 'cave'], /generates no tasks: its tasks come from a file\. Give one with --row/],
  [['solve', 'cave'], /has no solver/],
  [['solve', 'frozen_lake', '--args', '[]'], /--args is \[\]\. Expected a JSON object/],
  [['tasks', 'frozen_lake', '--args', '{"lvl": 1}'], /lvl: .*no argument "lvl"/],
  [
    ['test', 'frozen_lake', '--at-once', '0'],
    /--at-once is "0". Expected a whole number of at least 1/,
  ],
  [['tasks', 'frozen_lake', '--split', 'test'], /--split is "test"\. Expected one of train, eval/],
  [['serve', 'nowhere'], /There is no environment "nowhere"\. Known: cave, countdown/],
  [['serve', 'cave', '--host', '0.0.0.0'], /Others can reach 0\.0\.0\.0: give a key/],
  [['serve', 'cave', '--api-key-env', 'NOT_SET'], /--api-key-env names NOT_SET, which is not set/],
  [['tasks', 'frozen_lake', '-n', '0'], /--count is "0"\. Expected a whole number of at least 1/],
])('env %j says what is wrong', async (args, message) => {
  const { exitCode, stderr } = await mainHere('env', ...args, '--plugin', plugin);
  expect([exitCode, stderr]).toEqual([2, expect.stringMatching(message)]);
});

it('is played by hand, with tools too, until it is over or left', async () => {
  const world = await openWorld({ name: 'cave', plugins: [plugin] });
  const play = async (...lines: readonly string[]) => {
    let text = '';
    const { episode } = await world.begin({});
    await playByHand(episode, lines, (part) => void (text += part));
    return text;
  };
  expect(await play('left', 'on', 'leave {"how":', 'leave')).toMatch(
    /leave .*dim\n> a wall\n> dark {2}\[reward 0\.5\]\n> .*Expected a JSON object.*\n> dark.*\nOver after a total reward of 1\.\n$/s,
  );
  expect(await play('')).toMatch(/Stopped in a state that is worth 0\.25\.\n$/);
  await world.close();
  const exam = await openWorld({ name: 'exam', plugins: [plugin] });
  let text = '';
  await playByHand((await exam.begin({})).episode, ['x'], (part) => void (text += part));
  expect(text).toMatch(/\nOver after a total reward of 0\.25\.\n$/);
  await exam.close();
});

it('names keys of a row that the tasks of the environment do not have', async () => {
  const lake = await openWorld({ name: 'frozen_lake' });
  const [row = {}] = lake.tasks('train', 1, 1);
  expect(unknownKeys(row, lake)).toBe('');
  expect(unknownKeys({ ...row, sze: 4 }, lake)).toMatch(
    /^--row has sze, which .* \(they have .*seed/,
  );
  await lake.close();
});
