/** Tests the bridge with a stand-in, and its Python side with an environment that needs only the standard library. */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { ConfigError, EnvironmentError, silentLogger } from '@trinity-rft/core';
import { killGroup } from '@trinity-rft/core/support';
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { pythonArgs } from '../../src/drivers/python/args.js';
import { openBridged, python, script } from '../../src/drivers/python/python.js';
import { createEnvironments } from '../../src/open/environments.js';
import { checkEnvironment, type Action, type Environment } from '../../src/index.js';

const here = fileURLToPath(new URL('.', import.meta.url));
const { signal } = new AbortController();
const context = { logger: silentLogger, signal };
const text = (action: string): Action => ({ type: 'text', text: action });
const open: Environment[] = [];
afterEach(async () => {
  for (const environment of open.splice(0)) await environment.close();
});

async function standIn(args: Record<string, unknown> = {}): Promise<Environment> {
  const program = { command: process.execPath, args: [`${here}stand-in.mjs`] };
  const read = pythonArgs.parse({ kind: 'a:b', ...args });
  const environment = await openBridged(read, program, signal);
  open.push(environment);
  return environment;
}

const faults: Readonly<Record<string, [string, RegExp]>> = {
  hang: ['ENVIRONMENT_DEADLINE', /did not answer "step" within 1 s/],
  die: ['ENVIRONMENT_CLOSED', /ended \(3\).*out of luck/],
  garbage: ['ENVIRONMENT_ANSWER', /Loading/],
  truncate: ['ENVIRONMENT_ANSWER', /"obser/],
  raise: ['ENVIRONMENT_RAISED', /KeyError: 'x'/],
  'wrong id': ['ENVIRONMENT_ORDER', /answered request 2 while 3/],
  'no verdict': ['ENVIRONMENT_NO_VERDICT', /without a reward/],
  'no number': ['ENVIRONMENT_ANSWER', /reward/],
};

describe('a process that breaks', () => {
  it.each(Object.keys(faults))(
    '%s: the episode fails, and the next one is played',
    async (fault) => {
      const environment = await standIn({ timeout: fault === 'hang' ? 1 : 20 });
      const [code, message] = faults[fault] ?? [];
      const episode = await environment.reset({ row: { fault }, seed: 1 }, signal);
      const error: unknown = await episode
        .step(text('x'), signal)
        .catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(EnvironmentError);
      expect(error).toMatchObject({ code, message });
      await episode.close();
      const next = await environment.reset({ row: {}, seed: 1 }, signal);
      expect(await next.step(text('x'), signal)).toMatchObject({ reward: 1, done: true });
    },
  );

  it('that reaches a limit of its own needs no reward', async () => {
    const environment = await standIn();
    const episode = await environment.reset({ row: { fault: 'limit' }, seed: 1 }, signal);
    expect(await episode.step(text('x'), signal)).toMatchObject({ done: true, truncated: true });
  });

  it('that answers twice is found out at the next request, of whichever episode', async () => {
    const environment = await standIn();
    const episode = await environment.reset({ row: { fault: 'twice' }, seed: 1 }, signal);
    const other = await environment.reset({ row: {}, seed: 2 }, signal);
    const answers = await Promise.allSettled([
      episode.step(text('x'), signal),
      other.step(text('y'), signal),
    ]);
    expect(answers).toMatchObject([
      { status: 'fulfilled', value: { observation: 'x' } },
      { status: 'rejected', reason: { code: 'ENVIRONMENT_ORDER' } },
    ]);
  });

  it('keeps its episodes when one of them is cancelled', async () => {
    const environment = await standIn();
    const run = new AbortController();
    const hanging = await environment.reset({ row: {}, seed: 1 }, signal);
    const other = await environment.reset({ row: {}, seed: 2 }, signal);
    const step = hanging.step(text('x'), run.signal);
    run.abort();
    await expect(step).rejects.toMatchObject({ reason: 'aborted' });
    expect(await other.step(text('y'), signal)).toMatchObject({ observation: 'y' });
  });

  it('does not delay the end of a run while it starts', async () => {
    const environments = createEnvironments([python]);
    const args = { kind: 'a:b', python: `${here}never-ready.sh` };
    const opening = environments.open('python', args, silentLogger);
    const [opened] = await Promise.allSettled([opening, environments.close()]);
    expect(opened).toMatchObject({ status: 'rejected', reason: { reason: 'shutdown' } });
  });

  it('is tried again where its program has gone since the first one started', async () => {
    const folder = mkdtempSync(path.join(tmpdir(), 'trinity-python-test-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const command = path.join(folder, 'program');
    symlinkSync(process.execPath, command);
    const args = pythonArgs.parse({ kind: 'a:b', processes: 2 });
    const program = { command, args: [`${here}stand-in.mjs`] };
    const environment = await openBridged(args, program, signal);
    open.push(environment);
    rmSync(command);
    // The second process is the one with fewer episodes.
    const gone = environment.reset({ row: {}, seed: 1 }, signal);
    await expect(gone).rejects.toThrow(EnvironmentError);
    await expect(gone).rejects.toMatchObject({ code: 'ENVIRONMENT_START_FAILED' });
  });

  it('is noticed when equal starts differ', async () => {
    const environment = await standIn({ processes: 2 });
    const row = { showPid: true };
    const resets = [1, 1].map((seed) => environment.reset({ row, seed }, signal));
    await expect(Promise.all(resets)).rejects.toMatchObject({ code: 'ENVIRONMENT_START' });
  });
});

const hasPython = ((): boolean => {
  try {
    execFileSync('python3', ['--version'], { timeout: 120_000, killSignal: 'SIGKILL' });
    return true;
  } catch {
    return false;
  }
})();

describe.skipIf(!hasPython)('a world in Python', () => {
  it('is played: instructions, hints, a refusal, the reward; what it prints does no harm', async () => {
    const args = { kind: 'toy:Guess', path: here, config: { most: 3 } };
    const environment = await python.open(args, context);
    open.push(environment);
    const episode = await environment.reset({ row: { how: 'Say a digit.' }, seed: 5 }, signal);
    expect(episode).toMatchObject({
      observation: 'Guess a number from 0 to 3.',
      instructions: 'Say a digit.',
    });
    expect(await episode.step(text('nine'), signal)).toMatchObject({ refused: true, done: false });
    const rewards: unknown[] = [];
    for (let guess = 0, done = false; !done; guess++) {
      const result = await episode.step(text(String(guess)), signal);
      rewards.push(result.reward);
      done = result.done;
    }
    expect(rewards.at(-1)).toBe(1);
    await episode.close();
    const next = await environment.reset({ row: {}, seed: 5 }, signal);
    expect(await next.step(text('99'), signal)).toMatchObject({
      done: true,
      truncated: true,
      reward: 0,
    });
    await expect(next.step(text('1'), signal)).rejects.toMatchObject({ code: 'ENVIRONMENT_OVER' });
  });

  const evaluating = async (begins?: string) => {
    const environment = await python.open({ kind: 'toy:Evaluate', path: here }, context);
    open.push(environment);
    return environment.reset({ row: { begins }, seed: 1 }, signal);
  };

  it.each(['{"loss": float("nan")}', '{(1, 2): 3}', '{"refused": [0]}', '{"refused": 0}', 'None'])(
    'may have %s as info',
    async (info) => {
      const episode = await evaluating(`("begun", ${info})`);
      expect(await episode.step(text(`"on", 0.5, True, ${info}`), signal)).toMatchObject({
        ...{ observation: 'on', reward: 0.5, done: true },
        refused: info === '{"refused": [0]}',
      });
    },
  );

  it.each([
    ['"on", float("nan"), True', 'step returned the reward nan; expected a finite number, or None'],
    ['"on", -float("inf"), True', 'step returned the reward -inf; expected a finite number'],
    ['7, 0, False', 'step returned an observation of type int; expected str'],
    ['None, 0, False', 'step returned an observation of type NoneType; expected str'],
  ])('that answers a step with %s is refused: %s', async (action, message) => {
    const episode = await evaluating();
    await expect(episode.step(text(action), signal)).rejects.toThrow(message);
  });

  it.each([
    ['(lambda: (yield))()', 'an observation of type generator'],
    ['("on", {"instructions": 7})', 'instructions of type int'],
    ['("on", {"instructions": object()})', 'instructions of type object'],
  ])('that begins with %s is refused', async (begins, what) => {
    await expect(evaluating(begins)).rejects.toThrow(`reset returned ${what}; expected str`);
  });

  it('need not have instructions', async () => {
    const { instructions } = await evaluating('("on", {"instructions": None})');
    expect(instructions).toBeUndefined();
  });

  it('answers what was asked before the end of its input', async () => {
    const ask = (id: number, method: string, params: object): string =>
      `${JSON.stringify({ id, method, params })}\n`;
    const input = [
      ask(1, 'make', { kind: 'toy:Evaluate', name: null, config: {}, path: here }),
      ask(2, 'reset', { episode: 'e', seed: 1, task: {} }),
      ask(3, 'step', { episode: 'e', action: '__import__("time").sleep(0.2)' }),
    ].join('');
    const output = execFileSync('python3', ['-u', script()], {
      input,
      encoding: 'utf8',
      timeout: 120_000,
      killSignal: 'SIGKILL',
    });
    expect(output.trim().split('\n')).toHaveLength(3);
  });

  it('may wait for all the programs that it has started', async () => {
    const episode = await evaluating();
    const wait = episode.step(text('__import__("os").wait()'), signal);
    await expect(wait).rejects.toThrow('ChildProcessError: [Errno 10] No child processes');
  });

  it('that cannot import what an action names is no mistake', async () => {
    const episode = await evaluating();
    const step = episode.step(text('__import__("no_such_module")'), signal);
    await expect(step).rejects.toThrow(EnvironmentError);
  });

  it('reads UTF-8 in every locale', async () => {
    vi.stubEnv('PYTHONIOENCODING', 'latin-1');
    onTestFinished(() => void vi.unstubAllEnvs());
    const episode = await evaluating();
    expect(await episode.step(text('"ä🙂数", 0, False'), signal)).toMatchObject({
      observation: 'ä🙂数',
    });
  });

  it('ends with this process, even in the middle of a step, with the programs that it started', async () => {
    const child = spawn('python3', ['-u', script()], { detached: true, stdio: 'pipe' });
    onTestFinished(() => void killGroup(child, 'SIGKILL'));
    const ask = (id: number, method: string, params: object) =>
      child.stdin.write(`${JSON.stringify({ id, method, params })}\n`);
    ask(1, 'make', { kind: 'toy:Evaluate', name: null, config: {}, path: here });
    ask(2, 'reset', { episode: 'e', seed: 1, task: {} });
    // The regular expression keeps the interpreter's lock for days.
    const action =
      '__import__("os").system("sleep 100000 & echo busy"), __import__("re").match("(a+)+$", "a" * 50 + "b")';
    ask(3, 'step', { episode: 'e', action });
    await once(child.stderr, 'data');
    child.stdin.end();
    // Standard error stays open until the program has ended, too.
    expect(await once(child, 'close')).toEqual([null, 'SIGKILL']);
  });

  const openStub = async (kind: string, name: string, config = {}): Promise<Environment> => {
    const environment = await python.open({ kind, name, config, path: `${here}stubs` }, context);
    open.push(environment);
    return environment;
  };

  it('of Gymnasium refuses what is no action, and says which there are', async () => {
    const environment = await openStub('gymnasium', 'any');
    const episode = await environment.reset({ row: {}, seed: 1 }, signal);
    for (const action of ['²', '9'.repeat(5000), '0', '4', '-1', 'left'])
      expect(await episode.step(text(action), signal)).toMatchObject({
        refused: true,
        observation: 'That is no action. Write a number from 1 to 3.',
      });
    expect(await episode.step(text('3'), signal)).toMatchObject({ observation: 'took 3' });
  });

  it('of ScienceWorld is used again if it works, and closed if it is broken', async () => {
    const environment = await openStub('scienceworld', 'any');
    const play = async (action: string): Promise<string> => {
      const episode = await environment.reset({ row: { action }, seed: 1 }, signal);
      await episode.step(text(action), signal).catch(() => undefined);
      await episode.close();
      return episode.observation;
    };
    expect([await play('look'), await play('break'), await play('take')]).toEqual([
      'Do 1.\n1 made, 0 closed',
      'Do 1.\n1 made, 0 closed',
      'Do 1.\n2 made, 1 closed',
    ]);
  });

  it('of ScienceWorld plays variations for testing in evaluations, and all others in training', async () => {
    const environment = await openStub('scienceworld', 'any');
    const variations = async (
      split: 'train' | 'eval',
      count: number,
    ): Promise<readonly string[]> => {
      const found: string[] = [];
      const rows = python.tasks?.({ split, count, seed: 1 }, { kind: 'scienceworld' }) ?? [];
      for (const row of rows) {
        const { observation, close } = await environment.reset({ row, seed: 1 }, signal);
        found.push(observation.slice(0, 5));
        await close();
      }
      return found;
    };
    expect(new Set(await variations('train', 20))).toEqual(new Set(['Do 0.', 'Do 1.', 'Do 2.']));
    expect(await variations('eval', 5)).toEqual(['Do 3.', 'Do 4.', 'Do 3.', 'Do 4.', 'Do 3.']);
    const chosen = { variation: 3, seed: 1, split: 'train' };
    const { observation } = await environment.reset({ row: chosen, seed: 1 }, signal);
    expect(observation).toMatch('Do 3.');
  });

  it.each([
    ['gymnasium', 'train', ['seed']],
    ['gymnasium', 'eval', ['seed']],
    ['scienceworld', 'train', ['seed']],
    ['scienceworld', 'eval', ['seed', 'generated_for', 'generated_index']],
  ] as const)('of kind %s has rows for split %s with the columns %s', (kind, split, columns) => {
    const [row = {}] = python.tasks?.({ split, count: 1, seed: 1 }, { kind }) ?? [];
    expect(Object.keys(row)).toEqual(columns);
  });

  /** Returns the folder in which TextWorld stores its games during the test. */
  const gamesFolder = (): string => {
    const games = mkdtempSync(path.join(tmpdir(), 'trinity-games-'));
    vi.stubEnv('TMPDIR', games);
    onTestFinished(() => {
      vi.unstubAllEnvs();
      rmSync(games, { recursive: true });
    });
    return games;
  };

  it('of TextWorld plays no game that was compiled in part', async () => {
    const games = gamesFolder();
    const environment = await openStub('textworld', 'tw-stub');
    const reset = async () => environment.reset({ row: {}, seed: 1 }, signal);
    await expect(reset()).rejects.toThrow('no space left');
    expect((await reset()).observation).toBe('half and half, beside');
    expect(readdirSync(games).toSorted()).toEqual([
      expect.stringMatching(/^trinity-tw-stub-\w+\.json$/),
      expect.stringMatching(/^trinity-tw-stub-\w+\.z8$/),
    ]);
  });

  it('of TextWorld makes another game for another configuration with equal values', async () => {
    const games = gamesFolder();
    for (const key of ['cook', 'cut', 'cook']) {
      const environment = await openStub('textworld', 'tw-stub', { [key]: true });
      await environment.reset({ row: {}, seed: 1 }, signal).catch(() => undefined);
      await environment.reset({ row: {}, seed: 1 }, signal);
    }
    expect(readdirSync(games).filter((file) => file.endsWith('.z8'))).toHaveLength(2);
  });

  it('keeps the contract of environments', async () => {
    const results = await checkEnvironment(python, { args: { kind: 'toy:Guess', path: here } });
    expect(results.filter(({ outcome }) => outcome === 'failed')).toEqual([]);
  });

  it.each([
    [{ kind: 'gymnasium', path: `${here}stubs` }, /"make": TypeError: .*'name'/],
    [
      { kind: 'gymnasium', path: `${here}stubs`, name: 'any', config: { x: 1 } },
      /TypeError: .*'x'/,
    ],
    [
      { kind: 'gymnasium', path: `${here}stubs`, name: 'Pendulum-v1' },
      /actions of Pendulum-v1 are Box\(-2\.0, 2\.0\); expected Discrete or Text\. .*MODULE:CLASS/,
    ],
    [{ kind: 'toy:Guess', path: here, config: { most: 0 } }, /ValueError: most is 0\./],
    [
      { kind: 'gymnasium', path: `${here}stubs`, name: 'FrozenLaek-v1' },
      /NameNotFound: .*Did you mean: `FrozenLake`\? Correct/,
    ],
    [{ kind: 'toy:Gess', path: here }, /AttributeError: .*'Gess'/],
    [{ kind: 'toy:Guess', path: here, config: { falt: 1 } }, /TypeError: .*'falt'/],
  ])('that can never be made is a mistake in %s', async (args, message) => {
    const opening = python.open(args, context);
    await expect(opening).rejects.toThrow(ConfigError);
    await expect(opening).rejects.toThrow(message);
    await expect(opening).rejects.toThrow(
      /[^.]\.? Correct kind, name or config in environment_args if the cause is there\.$/,
    );
  });

  it.each(['refused', 'socket', 'answer', 'thread', 'gateway'])(
    'that may be made later is tried again: %s',
    async (failure) => {
      const args = { kind: 'toy:Unreachable', path: here, config: { failure } };
      await expect(python.open(args, context)).rejects.toThrow(EnvironmentError);
    },
  );

  it('says what is missing', async () => {
    const noModule = python.open({ kind: 'nowhere:make', path: here }, context);
    const noProgram = python.open({ kind: 'toy:Guess', python: 'no-such-python' }, context);
    await Promise.allSettled([noModule, noProgram]);
    await expect(noModule).rejects.toThrow(
      `No module named 'nowhere', neither there nor in the folder ${path.resolve(here)}. Install it with pip for that Python, or correct environment_args.python or environment_args.path.`,
    );
    await expect(noProgram).rejects.toThrow(/no-such-python.*cannot be started.*ENOENT/);
    expect(python.checkArgs({ kind: 'toy' })).toMatchObject([{ message: /MODULE:FUNCTION/ }]);
  });
});
