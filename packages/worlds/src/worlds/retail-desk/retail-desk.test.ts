import { silentLogger } from '@trinity-rft/core';
import { expect, it } from 'vitest';
import { drawCase, type RetailCase } from './cases.js';
import { retailDesk } from './definition.js';

const { signal } = new AbortController();

/** Starts the first task of level 3 that matches `fits`. */
async function begin(fits: (given: RetailCase) => boolean) {
  const environment = await retailDesk.open({}, { logger: silentLogger, signal });
  let seed = 0;
  while (!fits(drawCase(3, seed))) seed++;
  const episode = await environment.reset({ row: { seed, level: 3 }, seed: 0 }, signal);
  const say = (text: string) => episode.step({ type: 'text', text }, signal);
  const call = (name: string, given: Readonly<Record<string, unknown>>) =>
    episode.step({ type: 'tool', name, arguments: given }, signal);
  return { ...drawCase(3, seed), episode, say, call };
}

it('lets the clerk cancel, once the customer is known', async () => {
  const { episode, say, call, order, customer, wish } = await begin(
    (given) => given.isAllowed && given.wish.kind === 'cancel',
  );
  const reason = wish.kind === 'cancel' ? wish.reason : '';
  expect(episode.observation).toBe(`Hello. I want to cancel my order ${order.id}.`);
  const cancel = () => call('cancel_order', { order_id: order.id, reason });
  expect((await cancel()).observation).toBe('Find the customer of the order first.');
  expect((await say('What is your name?')).observation).toContain(customer.name);
  await call('find_customer', { name: customer.name, zip: customer.zip });
  expect((await say('Why?')).observation).toContain(reason);
  expect((await cancel()).observation).toContain('"cancelled"');
  expect(await say('Done.')).toMatchObject({ done: true, reward: 1 });
});

it('rewards a denial that the rules ask for, and no other', async () => {
  const denied = await begin(({ isAllowed }) => !isAllowed);
  expect(await denied.say('I cannot do that.')).toMatchObject({ done: true, reward: 1 });
  const allowed = await begin(({ isAllowed }) => isAllowed);
  expect(await allowed.say('I cannot do that.')).toMatchObject({ done: true, reward: 0 });
});

it.each([
  ['I can’t do that. Is there anything else?', true],
  ['I cannot look that up without your name and zip code. May I have them?', false],
  ["I can't find you. What is your name?", false],
])('lets the customer leave after a denial alone: %s', async (text, done) => {
  const { say } = await begin(() => true);
  expect(await say(text)).toMatchObject({ done });
});

it('gives nothing for a change that nobody asked for', async () => {
  const { say, call, state, order, customer } = await begin(({ isAllowed }) => !isAllowed);
  await call('find_customer', { name: customer.name, zip: customer.zip });
  const other = state.orders.find(
    (each) => each.customer === customer.id && each.status === 'pending' && each.id !== order.id,
  );
  const wrong = other ?? order;
  await call('return_order', { order_id: wrong.id });
  await call('cancel_order', { order_id: wrong.id, reason: 'no longer needed' });
  const { reward } = await say('I cannot do that.');
  expect(reward).toBe(other === undefined ? 1 : 0);
});

it('asks only for addresses that are other ones', () => {
  const cases = Array.from({ length: 2000 }, (_, seed) => drawCase(2, seed));
  const moves = cases.filter(({ wish }) => wish.kind === 'move');
  expect(moves.length).toBeGreaterThan(500);
  for (const { wish, order } of moves) expect(wish).not.toMatchObject({ address: order.address });
});
