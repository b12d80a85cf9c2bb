/** One visit to the shop as an episode. */
import type { Action, Solver, World } from '@trinity-rft/environment';
import { refuse, textAction } from '../shared/actions.js';
import { clickablesOf, richText } from './shop/pages.js';
import type { Goal, Product } from './shop/product.js';
import { isPossible, readShopAction, type Shop, type Visit, visitShop } from './shop/session.js';

const instructions = `You shop online for a customer: find the product that fits the instruction best, choose its options, and buy it.
Actions:
search[words] looks for products; it works on pages with a [button] Search [button_].
click[name] presses a button of the page: a product, an option, a link, or Buy Now, which ends the visit.
Think, then write exactly one action as <action>search[red shoes]</action> or <action>click[Buy Now]</action>.`;

/**
 * Creates the world of one visit.
 * @param unfinished reward of an episode that ends without a purchase
 */
export function shopWorld(shop: Shop, goal: Goal, unfinished: number): World {
  const visit = visitShop(shop, goal);
  return {
    instructions,
    observation: richText(visit.parts()),
    step: (action) => {
      const wanted = action.type === 'text' ? readShopAction(action.text) : undefined;
      if (wanted === undefined || !isPossible(visit, wanted)) return refuse(whyNot(visit));
      const reward = visit.act(wanted);
      if (reward !== undefined) return { observation: 'You bought it.', reward, done: true };
      return { observation: richText(visit.parts()), reward: 0, done: false };
    },
    grade: () => unfinished,
    stateKey: () => visit.key(),
  };
}

function whyNot(visit: Visit): string {
  const clicks = clickablesOf(visit.parts()).filter((label) => label !== 'search');
  const search = visit.hasSearchBar() ? 'search[words] is possible here. ' : '';
  return `That is not possible on this page. ${search}Buttons: ${clicks.map((label) => `click[${label}]`).join(', ') || 'none'}.`;
}

/**
 * Creates a solver that searches for the title, turns pages until the product appears, chooses the
 * options and buys the product.
 */
export function shopSolver(goal: Goal, product: Product): Solver {
  const values = Array.isArray(goal.goalOptions)
    ? goal.goalOptions
    : Object.values(goal.goalOptions);
  const lines = (observation: string) => observation.split('\n').map((line) => line.trim());
  const next = (observation: string): string => {
    const shown = new Set(lines(observation));
    const has = (label: string) => shown.has(`[button] ${label} [button_]`);
    if (has('Search')) return `search[${product.title}]`;
    if (has(product.asin)) return `click[${product.asin}]`;
    const open = values.find((value) => has(value));
    if (open !== undefined) return `click[${open}]`;
    return has('Buy Now') ? 'click[Buy Now]' : 'click[Next >]';
  };
  return (observation): Action => textAction(next(observation));
}
