/** Reward of a purchase by WebShop's rules. Source: arXiv:2207.01206, section 3.3. */
import { colorOf } from './colors.js';
import type { Goal, Product } from './product.js';
import { tokenSetRatio } from './token-set-ratio.js';

/** Function that finds the nouns of a title, in lower case and in order. */
export type Nouns = (title: string) => readonly string[];

export interface Purchase {
  readonly product: Product;
  /** Values of the options that were chosen for the purchase, keyed by option name. */
  readonly options: Readonly<Record<string, string>>;
}

/**
 * Returns the reward of a purchase, from 0 to 1: typeReward * matched / total. `matched` is the
 * number of the goal's attributes and options that the purchase has, plus 1 if the price is within
 * the limit. `total` is the number of the goal's attributes and options, plus 1.
 */
export function purchaseReward({ product, options }: Purchase, goal: Goal, nouns: Nouns): number {
  const wanted = wantedOptions(goal);
  const chosen = Object.values(options).map(colorOf);
  const attributes = goal.attributes.filter((attribute) => hasAttribute(product, attribute));
  const matched = wanted.filter((option) => chosen.some((value) => isAlike(value, option)));
  const inBudget = product.price <= goal.priceUpper ? 1 : 0;
  const share =
    (attributes.length + matched.length + inBudget) / (goal.attributes.length + wanted.length + 1);
  return typeReward(product, goal, nouns) * share;
}

const isAlike = (a: string, b: string): boolean => tokenSetRatio(a, b) > 85;

/**
 * Returns the goal's options as strings that are compared with the chosen values. In synthetic
 * goals, each string is the option's name and value, as in WebShop.
 */
const wantedOptions = ({ goalOptions }: Goal): readonly string[] =>
  Array.isArray(goalOptions)
    ? goalOptions.map(colorOf)
    : Object.entries(goalOptions).map(([name, value]) => `${name} ${value}`);

function hasAttribute(product: Product, attribute: string): boolean {
  if (product.attributes.some((own) => isAlike(own, attribute))) return true;
  const texts = [product.title, product.bulletPoints.join(' '), product.description];
  return texts.some((text) => text.toLowerCase().includes(attribute));
}

/**
 * Returns how similar the bought product is to the kind of product in the goal: 1 for the same or a
 * very similar kind, 0.5 or 0.1 for less similar kinds, and 0 if the titles share no noun.
 */
function typeReward(product: Product, goal: Goal, nouns: Nouns): number {
  const overlap = titleOverlap(nouns(product.title), nouns(goal.name));
  if (overlap === 0) return 0;
  if (overlap < 0.1) return 0.1;
  const isSameKind = product.query === goal.query || shareCategories(product, goal);
  return isSameKind || overlap > 0.2 ? 1 : 0.5;
}

function titleOverlap(bought: readonly string[], wanted: readonly string[]): number {
  if (wanted.length === 0) return 0.2;
  const both = new Set(wanted).intersection(new Set(bought));
  return both.size / wanted.length;
}

function shareCategories(product: Product, goal: Goal): boolean {
  const levels = (path: string) => new Set(path.split('›').map((level) => level.trim()));
  return levels(product.productCategory).intersection(levels(goal.productCategory)).size >= 2;
}
