import { silentLogger } from '@trinity-rft/core';
import { expect, it } from 'vitest';
import { readCommand } from './commands.js';
import { household } from './definition.js';
import { drawHouse, type House, sayGoal, taskTypes } from './house.js';
import { createHousehold } from './household.js';

const kitchen: House = {
  receptacles: ['countertop 1', 'fridge 1', 'microwave 1', 'drawer 1', 'sinkbasin 1'],
  places: new Map([
    ['egg 1', 'fridge 1'],
    ['mug 1', 'countertop 1'],
  ]),
  goal: { type: 'heat', object: 'egg', target: 'countertop' },
};

function player(house: House) {
  const state = createHousehold(house);
  const act = (text: string) => {
    const command = readCommand(text);
    return command && state.act(command);
  };
  return { act, state };
}

it('obeys the rules of the house', () => {
  const { act, state } = player(kitchen);
  expect(act('take egg 1 from fridge 1')).toBeUndefined();
  expect(act('go to fridge 1')).toBe('You arrive at the fridge 1. The fridge 1 is closed.');
  expect(act('take egg 1 from fridge 1')).toBeUndefined();
  expect(act('open fridge 1')).toBe('You open the fridge 1. In the fridge 1, you see a egg 1.');
  expect(act('take egg 1 from fridge 1')).toBe('You pick up the egg 1 from the fridge 1.');
  expect(act('heat egg 1 with microwave 1')).toBeUndefined();
  expect(act('Go to  microwave 1')).toBeDefined();
  expect(act('heat egg 1 with microwave 1')).toBe('You heat the egg 1 using the microwave 1.');
  expect(act('examine egg 1')).toBe('The egg 1 is hot.');
  act('go to fridge 1');
  act('cool egg 1 with fridge 1');
  expect(act('examine egg 1')).toBe('The egg 1 is cool.');
  act('go to countertop 1');
  expect(act('take mug 1 from countertop 1')).toBeUndefined();
  expect(act('put egg 1 in/on countertop 1')).toBeDefined();
  expect(state.isDone()).toBe(false);
  act('take egg 1 from countertop 1');
  act('go to microwave 1');
  act('heat egg 1 with microwave 1');
  act('go to countertop 1');
  expect(act('move egg 1 to countertop 1')).toBe('You put the egg 1 in/on the countertop 1.');
  expect(state.isDone()).toBe(true);
});

it('slices nothing in a closed place', () => {
  const { act } = player({
    ...kitchen,
    places: new Map([
      ['lettuce 1', 'fridge 1'],
      ['knife 1', 'countertop 1'],
    ]),
  });
  act('go to countertop 1');
  act('take knife 1 from countertop 1');
  act('go to fridge 1');
  expect(act('slice lettuce 1 with knife 1')).toBeUndefined();
  act('open fridge 1');
  expect(act('slice lettuce 1 with knife 1')).toBeDefined();
});

it('reads the commands of ALFWorld and no others', () => {
  expect(readCommand('put mug 2 on desk 1')).toEqual({
    verb: 'put',
    name: 'mug 2',
    with: 'desk 1',
  });
  expect(readCommand('look')).toEqual({ verb: 'look' });
  expect(readCommand('go to the kitchen')).toBeUndefined();
  expect(readCommand('')).toBeUndefined();
});

it.each([...taskTypes.entries()])(
  'shows how to search for what tasks of type %d, %s, need: nothing is taken unseen',
  async (index) => {
    const args = { level: 2, task_types: [index + 1], expert: 'search' };
    const rows = household.tasks?.({ split: 'train', count: 10, seed: 2 }, args) ?? [];
    const { signal } = new AbortController();
    const environment = await household.open(args, { logger: silentLogger, signal });
    for (const row of rows) {
      const episode = await environment.reset({ row, seed: 0 }, signal);
      const solver = household.solver?.({ row, seed: 0 }, args) ?? (() => undefined);
      let seen = '';
      let reward: number | undefined = 0;
      for (let action = solver(''); action !== undefined; action = solver('')) {
        const taken = /^take (.+) from/.exec(action.type === 'text' ? action.text : '')?.[1] ?? '';
        expect(seen).toContain(taken);
        const result = await episode.step(action, signal);
        seen += result.observation;
        ({ reward } = result);
      }
      expect(reward).toBe(1);
    }
  },
);

it.each([...taskTypes.entries()])('draws and solves tasks of type %d, %s', async (index, type) => {
  const args = { level: 3, task_types: [index + 1] };
  const rows = household.tasks?.({ split: 'eval', count: 15, seed: 4 }, args) ?? [];
  const { signal } = new AbortController();
  const environment = await household.open(args, { logger: silentLogger, signal });
  const lengths = rows.map(async (row) => {
    const episode = await environment.reset({ row, seed: 0 }, signal);
    const solver = household.solver?.({ row, seed: 0 }, args) ?? (() => undefined);
    let steps = 0;
    let result = {
      done: false,
      reward: 0 as number | undefined,
      refused: false as boolean | undefined,
      observation: '',
    };
    for (let action = solver(''); action !== undefined && !result.done; action = solver('')) {
      steps++;
      result = { ...result, ...(await episode.step(action, signal)) };
      expect(result.refused).toBe(false);
    }
    expect(result).toMatchObject({ done: true, reward: 1 });
    return steps;
  });
  expect(Math.max(...(await Promise.all(lengths)))).toBeLessThanOrEqual(10);
  expect(sayGoal(drawHouse({ seed: 1, type, level: 1 }).goal)).toMatch(/^(put|look at) .*\.$/);
});

it('is in the same state however it was reached', () => {
  const key = (commands: readonly string[]) => {
    const { act, state } = player(kitchen);
    act('go to fridge 1');
    act('open fridge 1');
    act('take egg 1 from fridge 1');
    for (const command of commands) expect(act(command)).toBeDefined();
    act('go to countertop 1');
    return state.key();
  };
  const heat = ['go to microwave 1', 'heat egg 1 with microwave 1'];
  const clean = ['go to sinkbasin 1', 'clean egg 1 with sinkbasin 1'];
  expect(key([...heat, ...clean])).toBe(key([...clean, ...heat]));
});
