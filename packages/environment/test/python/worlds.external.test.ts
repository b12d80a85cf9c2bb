/** Plays real environments from PyPI over the bridge, each to its best result. */
import { silentLogger } from '@trinity-rft/core';
import { findPython } from '@trinity-rft/test-support';
import { describe, expect, it, type TestContext } from 'vitest';
import { script, python } from '../../src/drivers/python/python.js';
import { startBridge } from '../../src/drivers/python/bridge.js';

const { signal } = new AbortController();
const packages = ['textarena==0.7.4', 'scienceworld==1.2.3', 'reasoning-gym==0.1.25'];
const installMs = 1_800_000;

async function programWith(context: TestContext, names: readonly string[]): Promise<string> {
  const found = await findPython(names);
  return 'missing' in found ? context.skip(found.missing) : found.program;
}

/** Plays the actions, by default those of an environment of `solved.py`. */
async function play(program: string, args: Record<string, unknown>, actions?: readonly string[]) {
  const bridge = startBridge({ command: program, args: ['-u', script()] });
  try {
    await bridge.call('make', { config: {}, path: import.meta.dirname, ...args }, installMs);
    const params = { episode: 'e', seed: 7, task: {} };
    const reset = (await bridge.call('reset', params, installMs)) as {
      readonly observation: string;
      readonly info: { readonly instructions?: string };
    };
    const { instructions = '[]' } = reset.info;
    let [total, steps, done] = [0, 0, false];
    for (const action of actions ?? (JSON.parse(instructions) as readonly string[])) {
      if (done) break;
      const step = (await bridge.call('step', { episode: 'e', action }, installMs)) as {
        readonly reward: number | null;
        readonly done: boolean;
      };
      [total, done, steps] = [total + (step.reward ?? 0), step.done, steps + 1];
    }
    return { total, steps, done, observation: reset.observation };
  } finally {
    bridge.close();
  }
}

describe('environments in Python', { tags: ['external'], timeout: installMs }, () => {
  it('TextArena: FrozenLake, and only what is new is told', async (context) => {
    const program = await programWith(context, packages);
    const args = { kind: 'textarena', name: 'FrozenLake-v0', python: program };
    const environment = await python.open(args, { logger: silentLogger, signal });
    const starts = [1, 2].map(() => environment.reset({ row: {}, seed: 7 }, signal));
    const [episode] = await Promise.all(starts);
    if (episode === undefined) throw new Error('unreachable');
    let reward = 0;
    for (const word of ['down', 'down', 'right', 'right', 'right', 'down']) {
      const step = await episode.step({ type: 'text', text: `[${word}]` }, signal);
      expect(step.observation).not.toContain('Welcome');
      expect(step.observation.length).toBeLessThan(episode.observation.length);
      reward += step.reward ?? 0;
    }
    expect(reward).toBe(1);
    await environment.close();
  });

  it('Reasoning Gym: a right countdown, and a wrong one', async (context) => {
    const program = await programWith(context, packages);
    const config = { min_numbers: 3, max_numbers: 3 };
    const args = { kind: 'reasoning_gym', name: 'countdown', python: program, config };
    const environment = await python.open(args, { logger: silentLogger, signal });
    const scores: unknown[] = [];
    for (const answer of ['20*28 + 98', 'x']) {
      const episode = await environment.reset({ row: {}, seed: 42 }, signal);
      expect(episode.observation).toContain('98, 28, 20');
      const step = await episode.step({ type: 'text', text: answer }, signal);
      expect(step.done).toBe(true);
      scores.push(step.reward);
    }
    expect(scores).toEqual([1, 0.01]);
    await environment.close();
  });

  it('ScienceWorld: the gold path earns 1', async (context) => {
    const program = await programWith(context, packages);
    const kind = 'solved:ScienceWorld';
    const args = { kind, name: 'find-living-thing', config: { solution: true } };
    const played = await play(program, args);
    expect(played).toMatchObject({ done: true, observation: /Your task is to find/ });
    expect(played.total).toBeCloseTo(1);
  });

  it('TextWorld: a generated game is won', async (context) => {
    const program = await programWith(context, ['textworld==1.7.0']);
    const config = { rewards: 'dense', goal: 'detailed' };
    const played = await play(program, { kind: 'solved:TextWorld', name: 'tw-simple', config });
    expect(played).toMatchObject({ done: true, steps: 8 });
    expect(played.total).toBeCloseTo(1);
  });

  it('Gymnasium: FrozenLake by names of actions', async (context) => {
    const program = await programWith(context, ['gymnasium==1.3.0']);
    const config = {
      is_slippery: false,
      render_mode: 'ansi',
      actions: ['left', 'down', 'right', 'up'],
    };
    const words = ['nowhere', 'down', 'down', 'right', 'right', 'down', 'right'];
    const played = await play(program, { kind: 'gymnasium', name: 'FrozenLake-v1', config }, words);
    expect(played).toMatchObject({ done: true, total: 1, steps: 7 });
  });
});
