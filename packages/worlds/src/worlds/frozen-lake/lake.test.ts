import { silentLogger } from '@trinity-rft/core';
import { expect, it } from 'vitest';
import { frozenLake } from './definition.js';

const { signal } = new AbortController();
const desc = ['SF', 'HG'];

async function begin(args: Readonly<Record<string, unknown>> = { desc }) {
  const environment = await frozenLake.open(args, { logger: silentLogger, signal });
  return environment.reset({ row: { seed: 1 }, seed: 1 }, signal);
}
const step = async (episode: Awaited<ReturnType<typeof begin>>, text: string) =>
  episode.step({ type: 'text', text }, signal);

it('rewards the goal, ends in a hole, and refuses a step over the edge', async () => {
  const episode = await begin();
  expect(await step(episode, 'Left')).toMatchObject({ refused: true, done: false });
  expect(await step(episode, '3')).toMatchObject({
    reward: 0,
    done: false,
    observation: '_ P\nO G',
  });
  expect(await step(episode, ' DOWN ')).toMatchObject({ reward: 1, done: true });
  expect(await step(await begin(), 'down')).toMatchObject({ reward: 0, done: true });
});

it('slips to the sides on slippery ice, and the solver goes on from there', async () => {
  const args = { level: 1, p: 1, is_slippery: true };
  const environment = await frozenLake.open(args, { logger: silentLogger, signal });
  const rows = frozenLake.tasks?.({ split: 'train', count: 8, seed: 3 }, args) ?? [];
  let turns = 0;
  for (const row of rows) {
    const episode = await environment.reset({ row, seed: 2 }, signal);
    const solver = frozenLake.solver?.({ row, seed: 2 }, args) ?? (() => undefined);
    let result = { observation: episode.observation, done: false };
    for (; !result.done && turns < 1000; turns++)
      result = await episode.step(solver(result.observation) ?? { type: 'text', text: '' }, signal);
    expect(result).toMatchObject({ done: true, reward: 1 });
  }
  expect(turns).toBeGreaterThan(16);
});

it('says which lake it cannot read', async () => {
  await expect(begin({ desc: ['SF', 'HH'] })).rejects.toThrow(/desc is no lake: \["SF","HH"\]/);
});

it('draws several tasks of one given lake, and other ones for an evaluation', () => {
  const rows = (['train', 'eval'] as const).flatMap(
    (split) => frozenLake.tasks?.({ split, count: 4, seed: 1 }, { desc }) ?? [],
  );
  expect(new Set(rows.map(({ seed }) => seed)).size).toBe(8);
});
