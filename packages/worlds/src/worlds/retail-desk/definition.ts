import type { RawTask } from '@trinity-rft/core';
import {
  type Action,
  defineEnvironment,
  nativeEnvironment,
  rowsOfSplit,
  type World,
} from '@trinity-rft/environment';
import { z } from 'zod';
import { playing, textAction } from '../shared/actions.js';
import { readRow } from '../shared/row.js';
import { end, seen, tool, toolAction, toolWorld } from '../shared/tool-world.js';
import {
  cancelReasons,
  drawCase,
  goalOf,
  grant,
  type RetailCase,
  sayWish,
  type Wish,
} from './cases.js';
import { reply } from './customer.js';
import type { Order } from './shop.js';

const argsSchema = z.strictObject({
  /** Difficulty. 1: cancellations; 2: also returns and moves; 3: also wishes to be denied. */
  level: z.int().min(1).max(3).default(2),
});

const rowSchema = z.object({
  seed: z.int().min(0),
  level: z.int().min(1).max(3).default(2),
});

/**
 * Environment in which the policy is the clerk of a shop and serves a customer who follows a
 * script, modelled on tau2-bench (arXiv:2506.07982).
 */
export const retailDesk = defineEnvironment({
  name: 'retail_desk',
  description: 'Help the customer of a shop by tools and by the rules of the shop.',
  args: argsSchema,
  rows: rowSchema,
  play: { maxTurns: 20, reward: 'sum' },
  open: () => nativeEnvironment(({ row }) => deskWorld(caseOf(row))),
  tasks: (range, { level }) =>
    rowsOfSplit(
      range,
      (seed) => ({ seed, level }),
      (row) => JSON.stringify(caseOf(row)),
    ),
  solver: ({ row }) => playing(stepsOf(caseOf(row))),
});

function caseOf(row: RawTask): RetailCase {
  const { seed, level } = readRow(rowSchema, row, 'retail_desk');
  return drawCase(level, seed);
}

const instructions = `You work at the desk of a shop. Talk to the customer in plain text, and use the tools.
Rules:
- First find out who the customer is, by name and zip code. Change only orders of that customer.
- Only a pending order can be cancelled, or get another address. A cancellation needs a reason: ${cancelReasons.join(', or ')}.
- Only a delivered order can be returned.
- Before a change, say what you are going to do and let the customer confirm it.
- When the rules do not allow it, say that you cannot do it.`;

function deskWorld(given: RetailCase): World {
  const state = structuredClone(given.state);
  const before = JSON.stringify(state);
  const goal = JSON.stringify(goalOf(given));
  const known = new Set<string>();
  const isReached = () => JSON.stringify(state) === goal;
  const change = (id: string, needed: Order['status'], wish: Wish): string => {
    const order = state.orders.find((each) => each.id === id);
    if (order === undefined) return `There is no order ${id}.`;
    if (!known.has(order.customer)) return 'Find the customer of the order first.';
    if (order.status !== needed) return `The order is ${order.status}, not ${needed}.`;
    grant(order, wish);
    return JSON.stringify(order);
  };
  const orderId = z.string().describe('such as #W1000000');
  return toolWorld({
    instructions,
    observation: `Hello. ${sayWish(given)}`,
    tools: [
      tool({
        name: 'find_customer',
        description: 'Finds a customer by name and zip code, with the numbers of their orders.',
        args: z.object({ name: z.string(), zip: z.string() }),
        run: ({ name, zip }) => {
          const found = state.customers.find(
            (each) => each.name.toLowerCase() === name.toLowerCase() && each.zip === zip,
          );
          if (found === undefined) return 'There is no such customer.';
          known.add(found.id);
          const orders = state.orders.filter(({ customer }) => customer === found.id);
          return JSON.stringify({ ...found, orders: orders.map(({ id }) => id) });
        },
      }),
      tool({
        name: 'get_order',
        description: 'Reads an order.',
        args: z.object({ order_id: orderId }),
        run: ({ order_id: id }) =>
          JSON.stringify(state.orders.find((each) => each.id === id) ?? `There is no order ${id}.`),
      }),
      tool({
        name: 'cancel_order',
        description: 'Cancels a pending order.',
        args: z.object({ order_id: orderId, reason: z.enum(cancelReasons) }),
        run: ({ order_id: id, reason }) => change(id, 'pending', { kind: 'cancel', reason }),
      }),
      tool({
        name: 'return_order',
        description: 'Requests the return of a delivered order.',
        args: z.object({ order_id: orderId }),
        run: ({ order_id: id }) => change(id, 'delivered', { kind: 'return' }),
      }),
      tool({
        name: 'change_address',
        description: 'Changes the address of a pending order.',
        args: z.object({ order_id: orderId, address: z.string() }),
        run: ({ order_id: id, address }) => change(id, 'pending', { kind: 'move', address }),
      }),
    ],
    say: (text) => {
      const changed = JSON.stringify(state) !== before;
      const { text: answer, isEnd } = reply(text, given, changed && isReached());
      return isEnd ? end(isReached() ? 1 : 0, answer) : seen(answer);
    },
    stateKey: () => JSON.stringify([state.orders, [...known].toSorted()]),
  });
}

/**
 * Returns the actions of the solver: it identifies the customer and the order, and then either
 * makes the change and reports it, or denies the wish.
 */
function stepsOf({ customer, order, wish, isAllowed }: RetailCase): readonly Action[] {
  const find = [
    textAction('May I have your name and zip code?'),
    toolAction('find_customer', { name: customer.name, zip: customer.zip }),
    toolAction('get_order', { order_id: order.id }),
  ];
  if (!isAllowed)
    return [...find, textAction(`I am sorry, I cannot do that: the order is ${order.status}.`)];
  return [
    ...find,
    textAction('Why, or where to? Please confirm the change.'),
    changeOf(order, wish),
    textAction('It is done.'),
  ];
}

function changeOf({ id }: Order, wish: Wish): Action {
  if (wish.kind === 'cancel')
    return toolAction('cancel_order', { order_id: id, reason: wish.reason });
  if (wish.kind === 'return') return toolAction('return_order', { order_id: id });
  return toolAction('change_address', { order_id: id, address: wish.address });
}
