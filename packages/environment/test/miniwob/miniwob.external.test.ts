/** Tests real pages in a real browser. */
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { silentLogger } from '@trinity-rft/core';
import { findPython } from '@trinity-rft/test-support';
import { describe, expect, it, type TestContext } from 'vitest';
import { miniwob } from '../../src/drivers/miniwob/miniwob.js';
import type { Environment, Episode } from '../../src/index.js';

const { signal } = new AbortController();
const chromium = process.env['CHROMIUM_PATH'] ?? '/usr/bin/chromium';

async function open(context: TestContext, task: string): Promise<Environment> {
  if (!existsSync(chromium)) return context.skip('no Chromium: apt install chromium');
  const python = await findPython(['miniwob==1.1.0']);
  if ('missing' in python) return context.skip(python.missing);
  const find = 'import importlib.util as u; print(u.find_spec("miniwob").origin)';
  const module = execFileSync(python.program, ['-c', find], {
    encoding: 'utf8',
    timeout: 120_000,
    killSignal: 'SIGKILL',
  }).trim();
  const pages = path.join(path.dirname(module), 'html');
  const environment = await miniwob.open(
    { pages, task, chromium },
    { logger: silentLogger, signal },
  );
  context.onTestFinished(() => environment.close());
  return environment;
}

const act = (episode: Episode, text: string) => episode.step({ type: 'text', text }, signal);
const numberOf = (observation: string, line: RegExp): number =>
  Number(
    observation
      .split('\n')
      .find((each) => line.test(each))
      ?.match(/\[(\d+)\]/)?.[1],
  );

describe('MiniWoB', { tags: ['external'], timeout: 300_000 }, () => {
  it('click-button: the right one earns 1, a wrong one -1, and groups see the same page', async (context) => {
    const environment = await open(context, 'click-button');
    const rewards: unknown[] = [];
    for (const isRight of [true, false]) {
      const starts = [1, 2].map(() => environment.reset({ row: {}, seed: 4 }, signal));
      const [episode, other] = await Promise.all(starts);
      if (episode === undefined || other === undefined) throw new Error('unreachable');
      expect(other.observation).toBe(episode.observation);
      const wanted = /Click on the "(.+)" button/.exec(episode.observation)?.[1] ?? '';
      const buttons = episode.observation.split('\n').filter((line) => line.includes('] button '));
      const line = buttons.find((each) => each.includes(`"${wanted}"`) === isRight) ?? '';
      expect(await act(episode, 'click(99)')).toMatchObject({ refused: true, done: false });
      const result = await act(episode, `click(${numberOf(line, /./)})`);
      expect(result.done).toBe(true);
      rewards.push(result.reward);
      await Promise.all([episode.close(), other.close()]);
    }
    expect(rewards).toEqual([1, -1]);
  });

  it('enter-text: fill and click earn 1; a killed browser breaks the episode, and the next has another', async (context) => {
    const environment = await open(context, 'enter-text');
    const [row] =
      miniwob.tasks?.({ split: 'eval', count: 1, seed: 1 }, { pages: '/', task: 'enter-text' }) ??
      [];
    const play = async (episode: Episode): Promise<unknown> => {
      const wanted = /Enter "(.+)" into/.exec(episode.observation)?.[1];
      const field = numberOf(episode.observation, /textbox/);
      const filled = await act(episode, `fill(${field}, "${wanted}")`);
      expect(filled.observation).toContain(`value "${wanted}"`);
      return act(episode, `click(${numberOf(filled.observation, /button "Submit"/)})`);
    };
    const episode = await environment.reset({ row: row ?? {}, seed: 1 }, signal);
    expect(await play(episode)).toMatchObject({ done: true, reward: 1 });
    const doomed = await environment.reset({ row: {}, seed: 2 }, signal);
    await environment.close();
    await expect(act(doomed, 'click(1)')).rejects.toMatchObject({ code: 'ENVIRONMENT_SERVER' });
    const next = await environment.reset({ row: {}, seed: 2 }, signal);
    expect(await play(next)).toMatchObject({ done: true, reward: 1 });
    await environment.close();
  });

  it('choose-list: an option is selected', async (context) => {
    const environment = await open(context, 'choose-list');
    const episode = await environment.reset({ row: {}, seed: 2 }, signal);
    const wanted = /Select (.+) from/.exec(episode.observation)?.[1];
    const list = numberOf(episode.observation, /combobox/);
    expect(await act(episode, `select(${list}, "no such")`)).toMatchObject({ refused: true });
    const chosen = await act(episode, `select(${list}, "${wanted}")`);
    const result = await act(episode, `click(${numberOf(chosen.observation, /button "Submit"/)})`);
    expect(result).toMatchObject({ done: true, reward: 1 });
  });
});
