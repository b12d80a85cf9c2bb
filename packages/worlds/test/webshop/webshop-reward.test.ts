/** Compares rewards with those of WebShop's own functions. */
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { pythonShuffle } from '../../src/worlds/webshop/files/python-random.js';
import { purchaseReward } from '../../src/worlds/webshop/shop/reward.js';
import { tokenSetRatio } from '../../src/worlds/webshop/shop/token-set-ratio.js';

interface Case {
  readonly product: {
    readonly query: string;
    readonly product_category: string;
    readonly name: string;
    readonly Attributes: readonly string[];
    readonly BulletPoints: readonly string[];
    readonly Description: string;
    readonly price: number;
  };
  readonly goal: {
    readonly query: string;
    readonly product_category: string;
    readonly name: string;
    readonly attributes: readonly string[];
    readonly price_upper: number;
    readonly goal_options: readonly string[] | Readonly<Record<string, string>>;
  };
  readonly options: Readonly<Record<string, string>>;
  readonly reward: number;
}

const vectors = JSON.parse(readFileSync(new URL('vectors.json', import.meta.url), 'utf8')) as {
  readonly nouns: readonly string[];
  readonly ratios: readonly (readonly [string, string, number])[];
  readonly cases: readonly Case[];
};

const nouns = (title: string) =>
  title
    .toLowerCase()
    .split(/[\s,]+/)
    .filter((word) => vectors.nouns.includes(word));

function ourReward({ product, goal, options }: Case): number {
  const bought = {
    asin: 'B000000000',
    title: product.name,
    query: product.query,
    productCategory: product.product_category,
    description: product.Description,
    bulletPoints: product.BulletPoints,
    attributes: product.Attributes,
    options: {},
    price: product.price,
    priceTag: '',
    rating: '',
    reviews: [],
  };
  const wanted = {
    asin: '',
    query: goal.query,
    name: goal.name,
    productCategory: goal.product_category,
    attributes: goal.attributes,
    goalOptions: goal.goal_options,
    priceUpper: goal.price_upper,
    instruction: '',
  };
  return purchaseReward({ product: bought, options }, wanted, nouns);
}

it('rewards 300 purchases as WebShop does', () => {
  const round = (reward: number) => Number(reward.toFixed(9));
  const ours = vectors.cases.map((each) => round(ourReward(each)));
  expect(ours).toEqual(vectors.cases.map(({ reward }) => round(reward)));
  expect(ours).toHaveLength(300);
});

it('compares words as thefuzz does', () => {
  const ours = vectors.ratios.map(([a, b]) => tokenSetRatio(a, b));
  expect(ours).toEqual(vectors.ratios.map(([, , ratio]) => ratio));
});

it('shuffles as Python does, so that sessions have the numbers of the original', () => {
  const items = Array.from({ length: 1000 }, (_, index) => index);
  expect(pythonShuffle(items, 233).slice(0, 8)).toEqual([127, 320, 431, 331, 760, 454, 129, 769]);
});
