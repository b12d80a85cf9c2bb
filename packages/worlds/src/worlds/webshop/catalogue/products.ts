/** Generates the products of a shop from a seed. */
import { type Random, createRandom, deriveSeed } from '@trinity-rft/core';
import { pick } from '../../shared/pick.js';
import type { Product } from '../shop/product.js';
import { brands, type Department, departments } from './vocabulary.js';

export function generateProducts(count: number, seed: number): readonly Product[] {
  const products = new Map<string, Product>();
  for (let number = 0; products.size < count; number++) {
    const product = generateProduct(createRandom(deriveSeed(seed, 'product', number)));
    products.set(product.asin, product);
  }
  return [...products.values()];
}

function generateProduct(random: Random): Product {
  const department = pick(departments, random);
  const attributes = random.shuffle(department.attributes).slice(0, 3 + random.integer(2));
  const title = titleOf(department, attributes, random);
  const [least, most] = department.price;
  const price = Math.round((least + random.next() * (most - least)) * 100) / 100;
  return {
    asin: `B0${Array.from({ length: 8 }, () => pick(letters, random)).join('')}`,
    title,
    query: department.query,
    productCategory: department.path,
    description: `${title}. Made for every day, and backed by a two year warranty.`,
    bulletPoints: attributes.map((attribute) => `${capitals(attribute)}: ${pick(reasons, random)}`),
    attributes,
    options: optionsOf(department, random),
    price,
    priceTag: `$${price}`,
    rating: (3 + random.integer(21) / 10).toFixed(1),
    reviews: [],
  };
}

const letters = 'ABCDEFGHJKLMNPQRSTUVWXYZ0123456789'.split('');

/**
 * Returns a title that contains the product's first two attributes. The other attributes appear
 * only on the product's pages.
 */
function titleOf({ items }: Department, attributes: readonly string[], random: Random): string {
  const [first = '', second = ''] = attributes;
  return `${pick(brands, random)} ${capitals(first)} ${pick(items, random)} with ${capitals(second)}, Series ${1 + random.integer(99)}`;
}

const capitals = (text: string): string =>
  text.replace(/\b[a-z]/g, (letter) => letter.toUpperCase());

const reasons = [
  'tested by our own team',
  'what our customers ask for',
  'made to last',
  'as it should be',
];

/** Draws at least three values of each option. */
const optionsOf = ({ options }: Department, random: Random): Product['options'] =>
  Object.fromEntries(
    Object.entries(options).map(([name, values]) => {
      const count = Math.min(values.length, 3 + random.integer(3));
      const kept = new Set(random.shuffle(values).slice(0, count));
      return [name, values.filter((value) => kept.has(value))];
    }),
  );
