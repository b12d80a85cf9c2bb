/** Tests properties that hold in every environment. */
import { type RawTask, silentLogger } from '@trinity-rft/core';
import {
  serveEnvironment,
  type Action,
  type EnvironmentDefinition,
  type Episode,
} from '@trinity-rft/environment';
import { builtInEnvironments } from '@trinity-rft/worlds';
import { describe, expect, it } from 'vitest';

const { signal } = new AbortController();
const withTasks = builtInEnvironments.filter(({ tasks }) => tasks !== undefined);

/** Plays until the episode ends or the policy gives up. */
async function play(episode: Episode, next: (observation: string) => Action | undefined) {
  const observations = [episode.observation];
  const rewards: number[] = [];
  for (let turn = 0; turn < 100; turn++) {
    const action = next(observations.at(-1) ?? '');
    if (action === undefined) break;
    const result = await episode.step(action, signal);
    observations.push(result.observation);
    rewards.push(result.reward ?? 0);
    if (result.done) return { observations, rewards, done: true, graded: 0 };
  }
  return { observations, rewards, done: false, graded: (await episode.grade?.(signal)) ?? 0 };
}

const rewardOf = (
  { play: { reward = 'sum' } }: EnvironmentDefinition,
  { rewards, graded }: { readonly rewards: readonly number[]; readonly graded: number },
): number => {
  const all = [...rewards, graded];
  if (reward === 'max') return Math.max(...all);
  return reward === 'last' ? (rewards.at(-1) ?? 0) : all.reduce((sum, value) => sum + value, 0);
};

describe.each(withTasks)('$name', (definition) => {
  const levels = [1, 2, 3].filter((level) => definition.checkArgs({ level }).length === 0);
  const rowsOf = (
    args: RawTask,
    count = 10,
    split: 'train' | 'eval' = 'train',
  ): readonly RawTask[] => definition.tasks?.({ split, count, seed: 7 }, args) ?? [];
  const open = (args: RawTask = {}) => definition.open(args, { logger: silentLogger, signal });

  it.each(levels)('is solved by its solver at level %d', async (level) => {
    const environment = await open({ level });
    for (const row of rowsOf({ level })) {
      const episode = await environment.reset({ row, seed: 1 }, signal);
      const solver = definition.solver?.({ row, seed: 1 }, { level }) ?? (() => undefined);
      const played = await play(episode, solver);
      expect({ row, reward: rewardOf(definition, played) }).toEqual({ row, reward: 1 });
      await episode.close();
    }
    await environment.close();
    await environment.close();
  });

  it('is served without a number of tasks', async () => {
    const server = await serveEnvironment({ definition });
    const init = { method: 'POST', body: '{"split":"train"}' };
    const response = await fetch(`${server.url}/${definition.name}/num_tasks`, init);
    const { num_tasks: count } = (await response.json()) as { readonly num_tasks: number };
    expect(count).toBeGreaterThan(50);
    await server.close();
  });

  it('gives no reward to nothing, and refuses it without a change', async () => {
    const environment = await open();
    for (const row of rowsOf({}, 3)) {
      const episode = await environment.reset({ row, seed: 1 }, signal);
      const before = episode.stateKey?.();
      const result = await episode.step({ type: 'text', text: '' }, signal);
      const graded = result.done ? 0 : await episode.grade?.(signal);
      expect((result.reward ?? 0) + (graded ?? 0)).toBe(0);
      expect(result.refused === true && episode.stateKey?.() !== before).toBe(false);
      await episode.close();
    }
    await environment.close();
  });
});

it('takes only the expressions that countdown asks for, unless it scores as Reasoning Gym', async () => {
  const [given] = builtInEnvironments.filter(({ name }) => name === 'countdown');
  const scored = async (text: string, args: Readonly<Record<string, unknown>> = {}, target = 6) => {
    const environment = await given?.open(args, { logger: silentLogger, signal });
    const row = { numbers: [1, 5, 4], target };
    const episode = await environment?.reset({ row, seed: 0 }, signal);
    return (await episode?.step({ type: 'text', text }, signal))?.reward;
  };
  expect(await scored('(5 - 4) * 1', {}, 1)).toBe(1);
  expect(await scored('(5 + 1) * 4 // 4')).toBe(0);
  expect(await scored('1.5 * 4')).toBe(0);
  expect(await scored('1.5 * 4', { scoring: 'reasoning_gym' })).toBe(1);
  expect(await scored('5 + 1 ** 4')).toBe(0);
  expect(await scored('5 + 4 // 4 * 1')).toBe(0);
});
