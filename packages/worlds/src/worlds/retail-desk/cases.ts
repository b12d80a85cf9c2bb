/**
 * Draws cases, each with a shop and a customer's wish, and computes the shop's expected final
 * state.
 */
import { type Random, createRandom } from '@trinity-rft/core';
import { pick } from '../shared/pick.js';
import { type Customer, drawAddress, drawShop, type Order, type ShopState } from './shop.js';

/** A change to the order that the customer asks for. */
export type Wish =
  | { readonly kind: 'cancel'; readonly reason: string }
  | { readonly kind: 'return' }
  | { readonly kind: 'move'; readonly address: string };

export interface RetailCase {
  readonly state: ShopState;
  readonly customer: Customer;
  readonly order: Order;
  readonly wish: Wish;
  /** True if the shop's policy allows the wish. */
  readonly isAllowed: boolean;
}

export const cancelReasons = ['no longer needed', 'ordered by mistake'] as const;

const kinds = ['cancel', 'return', 'move'] as const;

/**
 * Draws a case.
 * @param level 1: cancellations; 2: also returns and moves; 3: also wishes that must be denied
 */
export function drawCase(level: number, seed: number): RetailCase {
  const random = createRandom(seed);
  const state = drawShop(level === 1 ? 4 : 12, random);
  const customer = pick(state.customers, random);
  const wish = drawWish(level === 1 ? 'cancel' : pick(kinds, random), random);
  const isAllowed = level < 3 || random.integer(2) === 0;
  const allowed = wish.kind === 'return' ? 'delivered' : 'pending';
  const order = pick(
    state.orders.filter(
      (each) => each.customer === customer.id && (each.status === allowed) === isAllowed,
    ),
    random,
  );
  return { state, customer, order, wish: withChange(wish, order, random), isAllowed };
}

/**
 * Returns the wish. If it is a move to the current address of the order, replaces the address with
 * a different one.
 */
function withChange(wish: Wish, { address }: Pick<Order, 'address'>, random: Random): Wish {
  if (wish.kind !== 'move' || wish.address !== address) return wish;
  return withChange({ ...wish, address: drawAddress(random) }, { address }, random);
}

function drawWish(kind: (typeof kinds)[number], random: Random): Wish {
  if (kind === 'cancel') return { kind, reason: pick(cancelReasons, random) };
  return kind === 'move' ? { kind, address: drawAddress(random) } : { kind };
}

/**
 * Returns the state of the shop after the wish is granted. The state is unchanged if the wish must
 * be denied.
 */
export function goalOf({ state, order, wish, isAllowed }: RetailCase): ShopState {
  const goal = structuredClone(state);
  const found = goal.orders.find(({ id }) => id === order.id);
  if (found !== undefined && isAllowed) grant(found, wish);
  return goal;
}

export function grant(order: Order, wish: Wish): void {
  if (wish.kind === 'cancel') {
    order.status = 'cancelled';
    order.reason = wish.reason;
  } else if (wish.kind === 'return') order.status = 'return requested';
  else order.address = wish.address;
}

export const sayWish = ({ order, wish }: RetailCase): string => {
  if (wish.kind === 'cancel') return `I want to cancel my order ${order.id}.`;
  if (wish.kind === 'return') return `I want to return everything of my order ${order.id}.`;
  return `Please send my order ${order.id} to another address.`;
};
